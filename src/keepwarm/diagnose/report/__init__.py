"""A diagnosis made readable: terminal, HTML, JSON, Parquet. One module each, all fed by ``mask``.

Values are masked once, before anything is shown: ``mask``, and ``secrets`` for what has the shape of
one. What is said alike everywhere is in ``wording``; ``text`` is the one door for recorded text.
``request`` shows one request, ``causes`` the catalogue of causes, ``strips`` the drawings of the
page; ``files`` writes ``--out``, of which ``map_file`` and ``template_file`` are what the dashboard needs
beside the rows; ``reading`` reads it back, and ``pieces`` cuts a text of a row into tokens.
"""
