from __future__ import annotations

from pathlib import Path

import pytest

from keepwarm import InputError
from keepwarm.diagnose.options import Options
from keepwarm.gate import check_trace
from tests.gate.conftest import Compare, keep
from tests.gate.traces import LETTERS, TRIAGE, broken, healthy, letter, triage, write


def statuses(verdict: object) -> dict[str, str]:
    return {site.label: site.status for site in verdict.sites}  # type: ignore[attr-defined]


def test_the_same_trace_passes(compare: Compare, tmp_path: Path) -> None:
    trace = broken(tmp_path / "a.jsonl")
    verdict = compare(trace, trace)
    assert verdict.refusals == ()
    assert {change.status for change in verdict.findings} == {"known"}
    assert {site.status for site in verdict.sites} == {"same"}
    assert verdict.drop_points == 0


def test_a_clock_is_refused_and_named(compare: Compare, tmp_path: Path) -> None:
    verdict = compare(healthy(tmp_path / "a.jsonl"), broken(tmp_path / "b.jsonl"))
    overall, site, finding = verdict.refusals
    assert overall.startswith("hit rate fell from ")
    assert site.startswith("hit rate of 'no stable first line' fell from ")
    assert finding.startswith("new finding clock at messages[0].content of ")
    assert [change.status for change in verdict.findings] == ["new"]
    assert sorted(site.status for site in verdict.sites) == ["same", "worse"]


def test_the_repair_is_praised(compare: Compare, tmp_path: Path) -> None:
    verdict = compare(broken(tmp_path / "b.jsonl"), healthy(tmp_path / "a.jsonl"))
    assert verdict.refusals == ()
    assert [(change.status, change.cause) for change in verdict.findings] == [("vanished", "clock")]
    assert sorted(site.status for site in verdict.sites) == ["better", "same"]
    assert verdict.drop_points < -20


def test_the_allowance(compare: Compare, tmp_path: Path) -> None:
    then = healthy(tmp_path / "a.jsonl")
    longer = [triage(n, text=f"{TRIAGE} {'And so on. ' * 9}") for n in range(12)]
    # The same text, of which the first request misses more: a drop, and nothing to fix.
    now = write(tmp_path / "b.jsonl", [*longer[:3], *map(letter, range(12))])
    drop = max(site.drop_points for site in compare(then, now, 100).sites)
    assert 1 < drop < 100
    assert compare(then, now, drop).refusals == ()
    assert len(compare(then, now, drop - 0.01).refusals) >= 1


def test_call_sites_are_recognised_by_their_text(compare: Compare, tmp_path: Path) -> None:
    then = healthy(tmp_path / "a.jsonl")
    reworded = TRIAGE.replace("Sort the message", "Sort messages", 4).replace("category 9", "drawer 9")
    requests = [*map(letter, range(12)), *(triage(n, text=f"Hello. {reworded}") for n in range(12))]
    verdict = compare(then, write(tmp_path / "b.jsonl", requests), 10)
    assert {site.status for site in verdict.sites} == {"same"}
    assert verdict.refusals == ()


def test_a_name_in_the_metadata_wins(compare: Compare, tmp_path: Path) -> None:
    then = [
        *(triage(n, call_site="triage") for n in range(6)),
        *(letter(n, call_site="letters") for n in range(6)),
    ]
    now = [*(triage(n, text="Entirely other words. " * 40, call_site="triage") for n in range(6)), *then[6:]]
    verdict = compare(write(tmp_path / "a.jsonl", then), write(tmp_path / "b.jsonl", now))
    assert set(statuses(verdict)) == {"triage", "letters"}
    assert "new" not in statuses(verdict).values()


def test_new_and_vanished_call_sites_are_said_and_not_refused(compare: Compare, tmp_path: Path) -> None:
    then = healthy(tmp_path / "a.jsonl")
    other = "Translate the article into French and keep the names of places as they are. " * 12
    requests = [*map(letter, range(12)), *(triage(n, text=other) for n in range(2))]
    verdict = compare(then, write(tmp_path / "b.jsonl", requests))
    assert sorted(site.status for site in verdict.sites) == ["new", "same", "vanished"]
    assert verdict.refusals == ()


def test_a_new_call_site_with_a_clock_is_refused(compare: Compare, tmp_path: Path) -> None:
    then = write(tmp_path / "a.jsonl", list(map(letter, range(12))))
    (refusal,) = compare(then, broken(tmp_path / "b.jsonl")).refusals
    assert refusal.startswith("new finding clock at messages[0].content")


def test_nothing_in_common(compare: Compare, tmp_path: Path) -> None:
    then = write(tmp_path / "a.jsonl", list(map(letter, range(3))))
    now = write(tmp_path / "b.jsonl", list(map(triage, range(3))))
    with pytest.raises(InputError, match="nothing to compare"):
        compare(then, now)


def test_a_finding_behind_another_position_is_the_same(compare: Compare, tmp_path: Path) -> None:
    def shifted(request: dict[str, object]) -> dict[str, object]:
        body = request["body"]
        assert isinstance(body, dict)
        front = {"role": "system", "content": "Always answer in English, whatever comes."}
        return {**request, "body": {**body, "messages": [front, *body["messages"]]}}

    requests = [triage(n, clock=True) for n in range(12)]
    then = write(tmp_path / "a.jsonl", requests)
    now = write(tmp_path / "b.jsonl", [shifted(request) for request in requests])
    verdict = compare(then, now, 100)
    (change,) = verdict.findings
    assert (change.status, change.path) == ("moved", "messages[1].content")
    assert change.before is not None
    assert change.before.path == "messages[0].content"
    assert verdict.refusals == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(block_size=32), "block size 16 then, 32 now"),
        (Options(capacity_blocks=512), "capacity blocks none then, 512 now"),
        (Options(ttl_s=60.0), "time to live none then, 60.0 now"),
    ],
)
def test_another_cache_is_refused(tmp_path: Path, options: Options, message: str) -> None:
    trace, path = healthy(tmp_path / "a.jsonl"), tmp_path / "baseline.json"
    keep(trace, path)
    with pytest.raises(InputError, match=message):
        check_trace(trace, options, path)


def test_another_template_is_refused_by_name_and_by_content(tmp_path: Path) -> None:
    trace, path = healthy(tmp_path / "a.jsonl"), tmp_path / "baseline.json"
    template = tmp_path / "chat.jinja"
    template.write_text("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
    options = Options(chat_template=str(template))
    keep(trace, path, options)
    assert check_trace(trace, options, path).refusals == ()
    with pytest.raises(InputError, match=r"chat template 'chat\.jinja' then, 'built-in ChatML' now"):
        check_trace(trace, Options(), path)
    template.write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    with pytest.raises(InputError, match="what tokenizer and template make of a text"):
        check_trace(trace, options, path)


def test_a_tokenizer_may_lie_in_another_folder(tmp_path: Path, test_tokenizers: Path) -> None:
    trace, path = healthy(tmp_path / "a.jsonl", requests=2), tmp_path / "baseline.json"
    source = min(folder for folder in test_tokenizers.iterdir() if (folder / "tokenizer.json").exists())
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        (tmp_path / place / source.name).symlink_to(source)
    template = tmp_path / "chat.jinja"
    template.write_text("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
    here, there = (
        Options(tokenizer=str(tmp_path / place / source.name), chat_template=str(template))
        for place in ("here", "there")
    )
    kept = keep(trace, path, here)
    assert str(tmp_path) not in path.read_text()
    assert kept.setup.tokenizer == source.name
    assert check_trace(trace, there, path).refusals == ()


def test_a_trace_of_hashes(compare: Compare, shared: Path) -> None:
    trace = shared / "cases" / "formats" / "mooncake.jsonl"
    verdict = compare(str(trace), str(trace))
    assert verdict.refusals == ()
    assert {site.status for site in verdict.sites} == {"same"}


@pytest.mark.parametrize("text", [LETTERS, ""])
def test_prompts_without_a_system_text(compare: Compare, tmp_path: Path, text: str) -> None:
    requests = [letter(n, text=text) for n in range(6)]
    for request in requests:
        del request["body"]["messages"][0]
    trace = write(tmp_path / "a.jsonl", requests)
    assert {site.status for site in compare(trace, trace).sites} == {"same"}
