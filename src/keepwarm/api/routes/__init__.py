"""The routes, one module per kind of question. A handler asks the library and encodes; it decides nothing."""
