from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import sklearn

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.model import load
from tests.cli.conftest import Keepwarm
from tests.cli.test_commands import one_line
from tests.reuse.samples import listings_and_builds


@pytest.fixture
def calls(tmp_path: Path) -> str:
    path = tmp_path / "calls.csv"
    rows = [f"{d.task},{d.duration_s:.6f},{d.call.arguments},{int(d.cut_off)}" for d in listings_and_builds()]
    path.write_text("\n".join(["task,tool_s,command,cut_off", *rows, "task-0,,ls,0"]) + "\n")
    return str(path)


def test_fit_writes_a_model(keepwarm_cli: Keepwarm, calls: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    ran = keepwarm_cli("reuse", "fit", calls, "-o", str(path), "--clusters", "2")
    assert ran.exit_code == 0
    said = f"{path}: 120 calls, 12 cut off; 1 tool, 2 clusters; scikit-learn {sklearn.__version__}\n"
    assert ran.stdout == said
    assert ran.stderr == f"keepwarm: {calls!r}: left out 1 × a row with no duration\n"
    model = load(path)
    assert model.fitted.sources == ("calls.csv",)
    listing, build = (model.remaining_s(ToolCall("Bash", text), 0.0) for text in ("ls -la src", "make test"))
    assert listing is not None
    assert build is not None
    assert listing < build


def test_report_is_one_document(keepwarm_cli: Keepwarm, calls: str) -> None:
    arguments = ("reuse", "report", calls, "--splits", "2", "--clusters", "2,3", "--json")
    ran = keepwarm_cli(*arguments)
    assert ran.exit_code == 0
    assert ran.stderr == ""
    document = json.loads(ran.stdout)
    assert document["schema"] == "keepwarm.reuse-report/1"
    assert [row["step"] for row in document["rows"]][-2:] == ["C2", "C3"]
    assert keepwarm_cli(*arguments).stdout == ran.stdout


def test_report_in_words(keepwarm_cli: Keepwarm, calls: str, tmp_path: Path) -> None:
    held_out = keepwarm_cli("reuse", "report", calls, "--splits", "2", "--clusters", "2")
    assert held_out.exit_code == 0
    assert "mean of 2 splits" in held_out.stdout
    path = str(tmp_path / "model.json")
    keepwarm_cli("reuse", "fit", calls, "-o", path)
    assert "Curves of the model" in keepwarm_cli("reuse", "report", "--model", path).stdout
    assert "The model on these calls" in keepwarm_cli("reuse", "report", calls, "--model", path).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("report",), "nothing to report on"),
        (("report", "--model", "none.json"), "cannot read the model 'none.json'"),
        (("report", "none.csv"), "cannot open 'none.csv'"),
        (("report", "{calls}", "--clusters", "1000"), "more than 256 clusters"),
        (("report", "{calls}", "--clusters", "x"), "'x' is not a list"),
        (("report", "{calls}", "--held-out", "1"), "no share of the tasks"),
        (("report", "{calls}", "--splits", "0"), "--splits"),
        (("report", "--model", "{calls}"), "cannot be used: it is no JSON"),
        (("fit", "{calls}"), "-o"),
        (("fit", "-o", "model.json"), "TRACE"),
        (("fit", "{calls}", "-o", "none/model.json"), "cannot write 'none/model.json'"),
        (("fit", "{calls}", "-o", "{calls}"), "would overwrite the trace"),
        (("fit", "{calls}", "-o", "model.json", "--censored-at", "-1"), "positive number of seconds"),
    ],
)
def test_a_wrong_call_is_one_line(
    keepwarm_cli: Keepwarm, calls: str, arguments: tuple[str, ...], said: str
) -> None:
    ran = keepwarm_cli("reuse", *(argument.replace("{calls}", calls) for argument in arguments))
    assert ran.exit_code == 2
    assert said in one_line(ran.stderr)


def test_without_scikit_learn_the_extra_is_named(
    keepwarm_cli: Keepwarm, calls: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for arguments in (("fit", calls, "-o", str(tmp_path / "m.json")), ("report", calls)):
        ran = keepwarm_cli("reuse", *arguments)
        assert ran.exit_code == 2
        assert "keepwarm[reuse]" in one_line(ran.stderr)
