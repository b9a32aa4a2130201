from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from keepwarm._errors import InputError
from keepwarm._json import plain, to_json
from keepwarm.diagnose import Options
from keepwarm.diagnose.engine import examine
from keepwarm.diagnose.findings import Finding, Owner
from keepwarm.diagnose.suspects import candidates_of
from keepwarm.repair.declared import parse_declarations
from keepwarm.repair.export import Order, make_task
from keepwarm.repair.files import write_task
from keepwarm.repair.fragments import static_fragments
from keepwarm.repair.markdown import to_markdown
from keepwarm.repair.saved import read_diagnosis
from keepwarm.repair.task import DeclaredRepair, Task
from tests.repair.checkouts import checkout, git

Tasks = dict[tuple[str, str], Task]
Findings = tuple[Finding, ...]
ENGINE_CASES = ["salt-1", "eviction-1", "skip-reads-1", "below-block-1", "expired-1", "routing-1"]


@pytest.fixture(scope="module")
def helpdesk(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as a repository of its own: its README says where each finding comes from."""
    root = tmp_path_factory.mktemp("helpdesk") / "app"
    shutil.copytree(
        repository / "examples" / "helpdesk" / "helpdesk",
        root / "helpdesk",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return checkout(root, {"README.md": "An application.\n"})


@pytest.fixture(scope="module")
def traffic(repository: Path) -> Path:
    return repository / "examples" / "helpdesk" / "traffic.jsonl.gz"


@pytest.fixture(scope="module")
def findings(traffic: Path) -> Findings:
    return examine(str(traffic)).diagnosis.findings


@pytest.fixture(scope="module")
def tasks(helpdesk: Path, traffic: Path, findings: Findings) -> Tasks:
    made = [make_task(Order(finding=f.id, trace=str(traffic), repository=helpdesk)) for f in findings]
    return {(task.finding.cause, task.finding.call_site): task for task in made}


def by_cause(tasks: Tasks, cause: str, file: str) -> Task:
    """The task of a cause whose likeliest place is in ``file``."""
    found = [task for (own, _), task in tasks.items() if own == cause and task.locations[0].file == file]
    assert found, (cause, file, {key: task.locations[0].file for key, task in tasks.items()})
    return found[0]


@pytest.mark.parametrize(
    ("cause", "file", "line_has"),
    [
        ("clock", "helpdesk/prompts/triage.py", "Current time"),
        ("identity", "helpdesk/prompts/triage.py", "ticket.id"),
        ("retrieved-context", "helpdesk/prompts/articles.py", "render_articles(articles)"),
        ("tool-order", "helpdesk/tools/registry.py", "for name in self._enabled"),
        ("identity", "helpdesk/prompts/reply.py", "customer.contact"),
    ],
)
def test_the_helpdesk_is_located_where_its_readme_says(
    tasks: Tasks, helpdesk: Path, cause: str, file: str, line_has: str
) -> None:
    task = by_cause(tasks, cause, file)
    lines = (helpdesk / file).read_text().split("\n")
    places = [place for place in task.locations if place.file == file]
    assert any(line_has in "\n".join(lines[p.first_line - 1 : p.last_line]) for p in places)
    assert task.not_located is None
    assert file in task.allowed_files
    assert len(task.allowed_files) <= 2


def test_a_hidden_finding_is_repaired_with_what_hides_it(tasks: Tasks) -> None:
    identity = by_cause(tasks, "identity", "helpdesk/prompts/triage.py")
    clock = by_cause(tasks, "clock", "helpdesk/prompts/triage.py")
    assert identity.together_with == (clock.finding.id,)
    assert clock.together_with == ()
    assert clock.target.hit_rate_repaired < identity.target.hit_rate_repaired
    assert f"together with {clock.finding.id}" in to_markdown(identity)


def test_targets_lie_between_recorded_and_repaired(tasks: Tasks) -> None:
    for task in tasks.values():
        target = task.target
        assert 0 <= target.hit_rate_before < target.hit_rate_required <= target.hit_rate_repaired <= 1
        assert target.hit_rate_required >= target.hit_rate_repaired - 0.02 - 1e-9


def test_what_is_meant_is_declared(tasks: Tasks) -> None:
    clock = by_cause(tasks, "clock", "helpdesk/prompts/triage.py")
    assert [(repair.kind, repair.text) for repair in clock.declared] == [("moved", "messages[0].content")]
    assert all(repair.reason for task in tasks.values() for repair in task.declared)


def test_no_value_of_the_traffic_is_in_a_task(tasks: Tasks, traffic: Path) -> None:
    records = [json.loads(line) for line in gzip.decompress(traffic.read_bytes()).splitlines()]
    customers = {
        match[1]
        for record in records
        for message in record["body"]["messages"]
        if (match := re.search(r"You are writing to ([^,]+),", str(message.get("content"))))
    }
    tickets = {match for record in records for match in re.findall(r"T-\d{3,}|C-\d{4}", json.dumps(record))}
    assert len(customers) > 5
    assert len(tickets) > 5
    for task in tasks.values():
        output = to_markdown(task) + to_json(plain(task)).decode()
        assert [value for value in customers | tickets if re.search(rf"\b{re.escape(value)}\b", output)] == []
        assert task.placeholders
        assert task.shown.values == tuple(v for v in task.shown.values if re.fullmatch(r"<[a-z-]+-\d+>", v))


def test_two_runs_give_the_same_bytes(helpdesk: Path, traffic: Path, tasks: Tasks) -> None:
    task = by_cause(tasks, "identity", "helpdesk/prompts/reply.py")
    again = make_task(Order(finding=task.finding.id.lower(), trace=str(traffic), repository=helpdesk))
    assert to_json(plain(again)) == to_json(plain(task))
    assert to_markdown(again) == to_markdown(task)


def test_the_document_reads_back(tasks: Tasks) -> None:
    for task in tasks.values():
        assert msgspec.json.decode(to_json(plain(task)), type=Task) == msgspec.convert(plain(task), Task)


def test_static_fragments_are_stable_lines_cut_at_slots(traffic: Path) -> None:
    examination = examine(str(traffic))
    finding = next(f for f in examination.diagnosis.findings if f.cause == "clock")
    site = next(site for site in examination.accounts.sites if site.id == finding.call_site)
    view, _ = candidates_of(examination.accounts, site, [finding])
    fragments = static_fragments(view)
    assert "Choose exactly one." in fragments
    assert "UTC" in fragments
    assert not [fragment for fragment in fragments if re.search(r"T-\d|\d\d:\d\d:\d\d", fragment)]


def test_what_the_caller_allows_and_declares(helpdesk: Path, traffic: Path, findings: Findings) -> None:
    declared = parse_declarations(
        [
            "added:The time is in the newest message.=the model needs it",
            "added:ask ann@post.example.org=who to ask",
        ]
    )
    order = Order(
        finding=findings[0].id,
        trace=str(traffic),
        repository=helpdesk,
        allow=("./docs/**/*.md",),
        declared=declared,
    )
    task = make_task(order)
    assert task.allowed_files[-1] == "docs/**/*.md"
    assert task.declared[-2] == declared[0]
    assert task.declared[-1].text == "ask <email-1>"


def test_declarations_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "declared.json"
    file.write_text('[{"kind": "removed", "text": "Be nice.", "reason": "said twice"}]')
    assert parse_declarations([str(file)]) == (
        DeclaredRepair(kind="removed", text="Be nice.", reason="said twice"),
    )


@pytest.mark.parametrize(
    "declaration", ["", "added", "added:text", "meant:a=b", "added: = ", "nowhere.json", "added:secret-text"]
)
def test_bad_declarations_are_not_repeated(declaration: str) -> None:
    with pytest.raises(InputError, match="--declare") as refusal:
        parse_declarations([declaration])
    assert "secret-text" not in str(refusal.value)


@pytest.mark.parametrize("path", ["/etc/passwd", "../other.py", "a/../../b", ""])
def test_nothing_outside_the_repository_is_allowed(path: str, helpdesk: Path, traffic: Path) -> None:
    with pytest.raises(InputError, match="--allow"):
        make_task(Order(finding="F1", trace=str(traffic), repository=helpdesk, allow=(path,)))


def test_what_cannot_be_located_is_said(tmp_path: Path, traffic: Path, findings: Findings) -> None:
    root = checkout(tmp_path / "app", {"a.py": "print(1)\n"})
    task = make_task(Order(finding=findings[1].id, trace=str(traffic), repository=root))
    assert (task.locations, task.allowed_files) == ((), ())
    assert task.not_located is not None
    assert "1 tracked text file searched" in task.not_located
    page = to_markdown(task)
    assert "Not located" in page
    assert "--allow PATH" in page


def case(shared: Path, name: str) -> tuple[Path, Options]:
    folder = shared / "cases" / "breaks"
    label = json.loads((folder / f"{name}.label.json").read_text())
    template = label.get("chat_template")
    return folder / f"{name}.jsonl", Options(
        capacity_blocks=label.get("capacity_blocks"),
        block_size=label.get("block_size"),
        chat_template=None if template is None else str(folder / template),
    )


@pytest.mark.parametrize(
    "name", ["salt-1", "eviction-1", "skip-reads-1", "below-block-1", "expired-1", "routing-1"]
)
def test_no_task_for_the_engine(name: str, shared: Path, helpdesk: Path) -> None:
    trace, options = case(shared, name)
    finding = next(f for f in examine(str(trace), options).diagnosis.findings if f.owner is Owner.ENGINE)
    with pytest.raises(InputError, match="engine's"):
        make_task(Order(finding=finding.id, trace=str(trace), repository=helpdesk, options=options))


def test_a_template_is_fixed_as_a_setting(shared: Path, helpdesk: Path) -> None:
    trace, options = case(shared, "template-clock-1")
    finding = next(f for f in examine(str(trace), options).diagnosis.findings if f.owner is Owner.TEMPLATE)
    task = make_task(Order(finding=finding.id, trace=str(trace), repository=helpdesk, options=options))
    assert "chat template or a server setting" in to_markdown(task)
    assert task.target.hit_rate_repaired > task.target.hit_rate_before


def test_every_labelled_break_that_source_can_remove_gives_a_task(shared: Path, tmp_path: Path) -> None:
    """Whatever the cause: a task with a target, and nothing located in a checkout without the text."""
    root = checkout(tmp_path / "app", {"a.py": "print(1)\n"})
    causes = set()
    for label_file in sorted((shared / "cases" / "breaks").glob("*-1.label.json")):
        name = label_file.name.removesuffix(".label.json")
        trace, options = case(shared, name)
        for finding in examine(str(trace), options).diagnosis.findings[:1]:
            if finding.owner is Owner.ENGINE:
                continue
            task = make_task(Order(finding=finding.id, trace=str(trace), repository=root, options=options))
            causes.add(finding.cause)
            assert task.locations == ()
            assert task.target.hit_rate_required > task.target.hit_rate_before
            assert task.declared
            assert to_markdown(task).startswith(f"# Repair {finding.id}: {finding.cause}")
    assert len(causes) >= 15


def test_a_saved_diagnosis_must_be_of_this_trace(
    helpdesk: Path, traffic: Path, findings: Findings, tmp_path: Path
) -> None:
    other = msgspec.structs.replace(findings[0], cause="clock")
    order = Order(finding=findings[0].id, trace=str(traffic), repository=helpdesk)
    with pytest.raises(InputError, match="saved diagnosis"):
        make_task(msgspec.structs.replace(order, saved=other))
    with pytest.raises(InputError, match="not the trace"):
        make_task(msgspec.structs.replace(order, saved_sha256="0" * 64))
    for content in ("", "{}", "[1]", '{"schema": "keepwarm.task/1"}'):
        file = tmp_path / "diagnosis.json"
        file.write_text(content)
        with pytest.raises(InputError, match="--diagnosis"):
            read_diagnosis(file)


def test_both_files_or_none(tasks: Tasks, tmp_path: Path) -> None:
    task = next(iter(tasks.values()))
    out = tmp_path / "task.md"
    (tmp_path / "task.json").write_text("before")
    out.mkdir()  # the page cannot be written
    with pytest.raises(InputError):
        write_task(task, out)
    assert (tmp_path / "task.json").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["task.json", "task.md"]


def test_recorded_text_is_no_markup() -> None:
    from keepwarm.repair.markdown import _code, _fenced, _plain

    assert _fenced("a\n```\nrun this\n````", "text").startswith("`````text\n")
    assert _code("`x`") == "`` `x` ``"
    assert _plain("<script> [a](b) *c*") == r"\<script\> \[a\](b) \*c\*"


def test_the_base_is_the_commit_checked_out(tasks: Tasks, helpdesk: Path) -> None:
    commit = git(helpdesk, "rev-parse", "HEAD")
    for task in tasks.values():
        assert task.base_commit == commit
        assert f"--base {commit}" in task.verify[-1]
        assert task.verify[-1].startswith("keepwarm verify --repo .")
