"""The scripted model reads what a prompt says, not where it says it."""

from __future__ import annotations

import copy
import re

import pytest
from helpdesk.scripted import ScriptedModel


def repair_triage(body):
    system, user = body["messages"]
    time = re.search(r"Current time: .*\n", system["content"])[0]
    ticket = re.search(r"PL-\d+", system["content"])[0]
    system["content"] = system["content"].replace(time, "").replace(ticket, "<ticket>")
    user["content"] = f"{time}Ticket: {ticket}\n\n{user['content']}"


def repair_articles(body):
    system, user = body["messages"]
    articles, _, instructions = system["content"].rpartition("\n\nYou prepare")
    system["content"] = "You prepare" + instructions
    user["content"] = f"{articles}\n\n{user['content']}"


def repair_resolve(body):
    body["tools"].sort(key=lambda tool: tool["function"]["name"])


def repair_reply(body):
    system = body["messages"][0]
    first, identity, rest = system["content"].split("\n\n", 2)
    system["content"] = "\n\n".join([first, rest, identity])


REPAIRS = {
    "triage": repair_triage,
    "articles": repair_articles,
    "resolve": repair_resolve,
    "reply": repair_reply,
}


@pytest.mark.parametrize("name", REPAIRS)
def test_a_repaired_prompt_gets_the_same_answer(by_call_site, name):
    for record in by_call_site[name]:
        body = copy.deepcopy(record["body"])
        REPAIRS[name](body)
        assert body != record["body"]
        answer = ScriptedModel().send(body, "any")["choices"][0]["message"]
        recorded = record["response"]["choices"][0]["message"]
        assert answer["content"] == recorded["content"]
        assert functions(answer) == functions(recorded)


def functions(message):
    return [call["function"] for call in message.get("tool_calls", [])]


def test_a_triage_prompt_without_its_time_gets_another_answer(by_call_site):
    changed = 0
    for record in by_call_site["triage"]:
        body = copy.deepcopy(record["body"])
        body["messages"][0]["content"] = re.sub(r"Current time: .*\n", "", body["messages"][0]["content"])
        answer = ScriptedModel().send(body, "any")["choices"][0]["message"]
        changed += answer["content"] != record["response"]["choices"][0]["message"]["content"]
    assert changed > 0


def test_usage_adds_up_and_grows_with_the_prompt(traffic):
    for record in traffic:
        usage = record["response"]["usage"]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    body = {"model": "m", "messages": [{"role": "user", "content": "one"}]}
    longer = {"model": "m", "messages": [{"role": "user", "content": "one two"}]}
    sizes = [ScriptedModel().send(each, "any")["usage"]["prompt_tokens"] for each in (body, longer)]
    assert sizes[1] == sizes[0] + 1
