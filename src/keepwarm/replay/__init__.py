"""Requests recorded on their way to a server, and sent again."""
