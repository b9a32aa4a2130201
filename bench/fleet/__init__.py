"""How much of what CacheWise gains on one server is left in a fleet of 1 to 64 behind each balancer.

``python -m bench.fleet`` computes what ``rows.jsonl`` lacks, the most telling runs first, and rewrites the
tables of docs/fleet.md; ``--only GROUP`` computes one group of runs, ``--tables`` none. A run that is stopped
loses the row under way and no other. After a change that is to change no figure, ``--recheck N`` computes N
of the stored rows anew, and keeps all of them if these come out the same. All of it is simulated.
"""
