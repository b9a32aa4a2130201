"""CacheWise reproduced: sessions of coding agents on a modelled server, every rule against FCFS with LRU.

``python -m bench.cachewise`` computes what ``rows.jsonl`` lacks and rewrites the tables of docs/cachewise.md;
``--only GROUP`` computes one group of runs, ``--tables`` none. After a change that is to change no figure,
``--recheck N`` computes N of the stored rows anew, and keeps all of them if these come out the same.
"""
