"""What ships: the wheel holds the data files and works in an environment that has nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src" / "keepwarm"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    source = {
        str(Path("keepwarm") / path.relative_to(SOURCE))
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == source
    data = {"py.typed", "trace/tokens/builtin.json", "trace/render/chatml.jinja"}
    assert {f"keepwarm/{name}" for name in data} <= shipped
    assert any(name.endswith(".html.jinja") for name in shipped)


def test_the_wheel_carries_its_licence(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (licence,) = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    assert archive.read(licence) == (REPOSITORY / "LICENSE").read_bytes()


def test_the_wheel_works_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, capture_output=True)
    pip = [home / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", str(wheel)], check=True, capture_output=True)
    done = subprocess.run([home / "bin" / "keepwarm", "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "diagnose" in done.stdout
    trace = REPOSITORY / "examples" / "helpdesk" / "traffic.jsonl.gz"
    command = [home / "bin" / "keepwarm", "diagnose", str(trace), "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "out").glob("*.html"))
