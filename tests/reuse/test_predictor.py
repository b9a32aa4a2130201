from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse import predictor
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.curves import Curve
from keepwarm.reuse.estimators.learned import Learned
from keepwarm.reuse.predictor import Cluster, Fitted, ReuseModel, ToolModel

SESSION = SessionId("s")


def flat(end_s: float, beyond_s: float) -> Curve:
    return Curve([], [], end_s=end_s, beyond_s=beyond_s, samples=30)


FITTED = Fitted("1", "1", 0, 2, 90, 0, ())
LISTING, BUILD, SHELL, ALL = flat(1.0, 1.0), flat(20.0, 5.0), flat(30.0, 7.0), flat(60.0, 9.0)
CLUSTERS = [Cluster((0, 1), (0.6, 0.8), LISTING), Cluster((2, 3), (0.6, 0.8), BUILD)]


def ladder_model(min_similarity: float = 0.3) -> ReuseModel:
    terms = ["ls", "^ ls", "make", "^ make", "src"]
    shell = ToolModel(SHELL, terms, [1.0, 1.0, 1.0, 1.0, 3.0], CLUSTERS, min_similarity=min_similarity)
    return ReuseModel(FITTED, ALL, {"bash": shell, "Read": ToolModel(SHELL)})


@pytest.mark.parametrize(
    ("tool", "arguments", "elapsed_s", "expected_s"),
    [
        ("bash", "ls", 0.0, 2.0),
        ("Bash", '{"command": "ls"}', 0.0, 2.0),
        ("bash", "make", 0.0, 25.0),
        ("bash", "make", 20.0, 17.0),  # past the cluster's end: the tool's
        ("bash", "make", 30.0, 39.0),  # past the tool's: all calls
        ("bash", "make", 60.0, None),
        ("bash", "src make", 0.0, 37.0),  # too little alike
        ("bash", "cargo", 0.0, 37.0),  # nothing alike
        ("bash", "", 0.0, 37.0),
        ("Read", "ls", 0.0, 37.0),  # a tool without clusters
        ("Unseen", "ls", 0.0, 69.0),
        ("Unseen", "ls", 60.0, None),
    ],
)
def test_the_ladder(tool: str, arguments: str, elapsed_s: float, expected_s: float | None) -> None:
    model = ladder_model()
    for _ in range(2):  # asked again, it remembers
        assert model.remaining_s(ToolCall(tool, arguments), elapsed_s) == expected_s


def test_without_a_least_similarity_one_common_word_will_do() -> None:
    assert ladder_model(0.0).remaining_s(ToolCall("bash", "src make"), 0.0) == 25.0


def test_a_call_asked_of_again_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ladder_model()
    model.remaining_s(ToolCall("bash", "make"), 1.0)
    monkeypatch.setattr(predictor, "terms_of", lambda _: pytest.fail("read again"))
    assert model.remaining_s(ToolCall("bash", "make"), 2.0) == 23.0


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictor, "_REMEMBERED_CALLS", 3)
    model = ladder_model()
    for number in range(10):
        model.remaining_s(ToolCall("bash", f"make {number}" + "x" * 100_000), 0.0)
    assert len(model._ladders) == 3
    assert max(len(call.arguments) for call in model._ladders) <= 512


def test_only_the_beginning_of_a_long_command_counts() -> None:
    model = ladder_model()
    huge = "make " + "ls " * 1_000_000
    assert model.ladder(ToolCall("bash", huge)) == model.ladder(ToolCall("bash", huge[:512]))


@given(st.text(), st.text(), st.floats())
def test_nothing_raises_and_nothing_is_nought(tool: str, arguments: str, elapsed_s: float) -> None:
    for name in (tool, "bash"):
        remaining_s = ladder_model().remaining_s(ToolCall(name, arguments), elapsed_s)
        assert remaining_s is None or remaining_s > 0.0


def test_the_estimator_knows_calls_only() -> None:
    learned = Learned(ladder_model())
    assert learned.remaining_s(SESSION, None, 5.0) is None
    assert learned.remaining_s(SESSION, ToolCall("bash", "ls"), 0.0) == 2.0
    learned.observe(ToolCall("bash", "ls"), 3.0)
    assert learned.remaining_s(SESSION, ToolCall("bash", "ls"), 0.0) == 2.0


def test_inference_loads_the_standard_library_only() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "import keepwarm.reuse.model, keepwarm.reuse.estimators.learned\n"
        "new = set(sys.modules) - before\n"
        "print(*sorted({n.split('.')[0] for n in new} - sys.stdlib_module_names))\n"
        "print(*sorted(n for n in new if n.startswith('keepwarm.')))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    packages, modules = ran.stdout.splitlines()
    assert packages == "keepwarm"
    assert {name.split(".")[1] for name in modules.split()} <= {"policies", "reuse"}
