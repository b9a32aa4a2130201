"""Which requests are replayed."""

from __future__ import annotations

import gzip
import json
from collections import Counter

from scripts.loop.chosen import call_site, chosen_ids, read, write_set
from scripts.loop.desk import EXAMPLE

TRAFFIC = EXAMPLE / "traffic.jsonl.gz"
REPAIRED = EXAMPLE / "traffic.repaired.jsonl.gz"


def test_first_uses_hold_one_request_of_each_ticket_or_customer_at_each_call_site():
    records = read(TRAFFIC)
    ids = set(chosen_ids(records, "first-uses"))
    chosen = [record for record in records if record["id"] in ids]
    sites = Counter(call_site(record) for record in chosen)
    tickets = Counter((call_site(record), record["session_id"]) for record in chosen)
    assert set(tickets.values()) == {1}
    assert sites["triage"] == len({record["session_id"] for record in records})
    assert sites["reply"] == 10  # customers
    assert sum(sites.values()) == len(ids) == 66


def test_the_day_is_all_of_it():
    records = read(TRAFFIC)
    assert chosen_ids(records, "day") == [record["id"] for record in records]


def test_a_set_keeps_its_lines_as_they_are_and_pairs_with_its_twin(tmp_path):
    ids = chosen_ids(read(TRAFFIC), "first-uses")
    for trace in (TRAFFIC, REPAIRED):
        write_set(trace, ids, tmp_path / "set.jsonl")
        lines = (tmp_path / "set.jsonl").read_bytes().splitlines()
        assert [json.loads(line)["id"] for line in lines] == ids
        assert set(lines) <= set(gzip.decompress(trace.read_bytes()).splitlines())
