from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise

import pytest


def system_of(record):
    return record["body"]["messages"][0]["content"]


def without(pattern: str, text: str) -> str:
    assert len(re.findall(pattern, text)) == 1
    return re.sub(pattern, "", text)


def stable_words_after(text: str, part: str) -> int:
    return len(text[text.index(part) + len(part) :].split())


def sessions_of(records):
    sessions = defaultdict(list)
    for record in records:
        sessions[record["session_id"]].append(record)
    return sessions


def test_triage_prints_time_and_ticket_and_nothing_else_varies(by_call_site):
    times, tickets, rests = [], set(), set()
    for record in by_call_site["triage"]:
        system = system_of(record)
        time = re.search(r"Current time: (\S+ \S+) UTC\n", system)
        ticket = re.search(r'"ticket": "(PL-\d+)"', system)
        assert ticket[1] == record["session_id"]
        assert time.start() < ticket.start()
        assert stable_words_after(system, ticket[0]) > 250
        times.append(time[1])
        tickets.add(ticket[1])
        rests.add(without(ticket[0], without(time[0], system)))
    assert len(set(times)) == len(times)
    assert len(tickets) == len(sessions_of(by_call_site["triage"]))
    assert len(rests) == 1


def test_a_ticket_is_sorted_again_at_each_message(by_call_site):
    repeated = [records for records in sessions_of(by_call_site["triage"]).values() if len(records) > 1]
    assert len(repeated) >= 20


def test_articles_stand_before_instructions_that_never_vary(by_call_site):
    selections, rests = set(), set()
    for record in by_call_site["articles"]:
        head, end, rest = system_of(record).rpartition("</article>")
        assert end
        assert head.startswith("Help-centre articles found for this question:\n\n<article ")
        selections.add(tuple(re.findall(r'<article id="([^"]+)"', head)))
        rests.add(rest)
        assert len(rest.split()) > 300
    assert len(selections) >= 15
    assert len(rests) == 1


def test_the_customer_stands_before_a_policy_that_never_varies(by_call_site):
    customers, rests = set(), set()
    for record in by_call_site["reply"]:
        head, mark, rest = system_of(record).partition("## Incidents")
        assert mark
        customers.add(re.search(r"customer\s+number (C-\d+)", head)[1])
        rests.add(rest)
        assert len(rest.split()) > 500
    assert len(customers) >= 4
    assert len(rests) == 1


def test_the_same_tools_come_in_many_orders(by_call_site):
    records = by_call_site["resolve"]
    tools = [{tool["function"]["name"]: tool for tool in record["body"]["tools"]} for record in records]
    assert all(offered == tools[0] for offered in tools)
    orders = {tuple(offered) for offered in tools}
    assert len(orders) >= 20
    changes = [
        list(before) != list(after)
        for session in sessions_of(zip_with_session(records, tools)).values()
        for before, after in pairwise(entry["order"] for entry in session)
    ]
    assert 10 <= sum(changes) < len(changes)
    assert len({system_of(record) for record in records}) == 1


def zip_with_session(records, tools):
    return [
        {"session_id": record["session_id"], "order": list(offered)}
        for record, offered in zip(records, tools, strict=True)
    ]


@pytest.mark.parametrize("name", ["triage", "articles", "reply"])
def test_no_other_call_site_offers_tools(by_call_site, name):
    assert all("tools" not in record["body"] for record in by_call_site[name])


@pytest.mark.parametrize("name", ["resolve", "reply"])
def test_apart_from_the_defects_a_ticket_only_grows(by_call_site, name):
    for session in sessions_of(by_call_site[name]).values():
        for before, after in pairwise(session):
            earlier, later = before["body"]["messages"], after["body"]["messages"]
            answer = before["response"]["choices"][0]["message"]
            assert later[: len(earlier) + 1] == [*earlier, answer]


def test_model_and_parameters_stay_the_same_within_a_call_site(by_call_site):
    for records in by_call_site.values():
        settings = {
            repr({key: value for key, value in record["body"].items() if key not in ("messages", "tools")})
            for record in records
        }
        assert len(settings) == 1
