from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepwarm.serving.profile import load_profile
from tests.cli.conftest import Keepwarm
from tests.cli.test_commands import one_line

REPLAYS = Path(__file__).parents[2] / "examples/helpdesk/evidence/replays/first-uses"


def test_the_profile_of_the_cpu_server_is_the_fit_to_the_kept_replays(
    keepwarm_cli: Keepwarm, tmp_path: Path
) -> None:
    out = tmp_path / "profile.json"
    folders = (str(REPLAYS / "before"), str(REPLAYS / "after"))
    ran = keepwarm_cli("profile", "fit", *folders, "-o", str(out), "--name", "cpu-smollm2")
    assert ran.exit_code == 0, ran.output
    assert "fitted to 132 requests; off by 0.130 s" in ran.stdout
    fitted, shipped = load_profile(str(out)), load_profile("cpu-smollm2")
    assert fitted.costs.coefficients() == pytest.approx(shipped.costs.coefficients())
    assert fitted.sources == shipped.sources
    assert json.loads(out.read_bytes())["capacity_tokens"] == 2047 * 16


def test_what_is_no_replay_is_refused(keepwarm_cli: Keepwarm, tmp_path: Path) -> None:
    ran = keepwarm_cli("profile", "fit", str(tmp_path / "none"), "-o", str(tmp_path / "profile.json"))
    assert ran.exit_code == 2
    assert "none" in one_line(ran.stderr)
    assert not (tmp_path / "profile.json").exists()
