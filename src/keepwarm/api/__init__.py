"""The local API: saved results over HTTP, for the dashboard. It holds no logic and starts no model.

- ``app``: the application, put together; ``settings``: what ``keepwarm serve`` chose
- ``security``: token, Host, Origin, and what the browser may load
- ``library``: what lies in the folder, found by its content; one reader per kind of result
- ``schema``: what is answered beyond the documents that are served as they stand
- ``contract``: how OpenAPI learns those types; ``routes``: one module per kind of question
- ``jobs``: simulations on demand, in a process of their own, with progress and cancel
"""
