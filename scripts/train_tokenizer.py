"""Train the built-in tokenizer and write ``src/keepwarm/trace/tokens/builtin.json``.

    python -m scripts.train_tokenizer            # train and write
    python -m scripts.train_tokenizer --check    # train and compare with what is committed

The corpus is text that every CPython brings along, under the PSF licence: the sources of its
standard library, their docstrings, and the reference manual that ``help()`` prints
(``pydoc_data.topics``); to it come the sentences and JSON documents of
``scripts/tokenizer_corpus.py``, written for this project. English prose weighs most, then code and
JSON, then German, French, Spanish, Italian, Portuguese and Dutch. The same corpus gives the same
bytes; ``CORPUS`` is the digest of the one behind the committed file. Another Python brings another
library, hence another corpus and another tokenizer.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import platform
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from scripts.tokenizer_corpus import documents, sentences

TARGET = Path(__file__).parents[1] / "src/keepwarm/trace/tokens/builtin.json"
CORPUS = "c238f4fa926176d21a24ea729503c17fb2151f832fbf5bdb99d4ddc352a52cce"  # CPython 3.11.7
VOCABULARY = 16_384
SPECIAL = (
    *("<|begin|>", "<|end|>", "<|pad|>", "<|im_start|>", "<|im_end|>"),
    *("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
)
# Words with the blank before them, digits by three, punctuation runs, line ends, blanks.
SPLIT = (
    r"[^\r\n\p{L}\p{N}]?\p{L}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PROSE_TIMES, SENTENCE_TIMES, CODE_TIMES = 3, 60, 1


def corpus() -> Iterator[str]:
    """Pieces of text, in an order that does not depend on the machine."""
    library = Path(sysconfig.get_path("stdlib"))
    modules = sorted(path for path in library.rglob("*.py") if _counts(path.relative_to(library)))
    for path in modules:
        source = path.read_text("utf-8", "ignore")
        for _ in range(CODE_TIMES):
            yield source
        for text in _docstrings(source):
            for _ in range(PROSE_TIMES):
                yield text
    topics: dict[str, str] = {}
    exec((library / "pydoc_data/topics.py").read_text("utf-8"), topics)  # noqa: S102  (a module of the standard library)
    for text in topics["topics"].values():  # type: ignore[attr-defined]
        for _ in range(PROSE_TIMES):
            yield text
    for text in sentences():
        for _ in range(SENTENCE_TIMES):
            yield text
    yield from documents()


def _counts(path: Path) -> bool:
    skipped = {
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "idle_test",
        "__pycache__",
        "lib2to3",
        "encodings",
    }
    return (
        not skipped & set(path.parts)
        and not path.name.startswith("_sysconfigdata")
        and path.name != "topics.py"
    )


def _docstrings(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text and len(text) > 40:
                yield text


def train(pieces: list[str]) -> Tokenizer:
    """A byte-level BPE; ties are broken by the trainer in a fixed way."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=4,
        show_progress=False,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in SPECIAL],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(pieces, trainer)
    return tokenizer


def main() -> int:
    """Train, then write or compare; exit 1 if the comparison fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed file, write nothing")
    check = parser.parse_args().check
    pieces = list(corpus())
    digest = hashlib.sha256("\0".join(pieces).encode("utf-8", "surrogatepass")).hexdigest()
    data = json.loads(train(pieces).to_str())
    data["model"]["merges"] = [" ".join(pair) for pair in data["model"]["merges"]]
    data["model"].pop("ignore_merges", None)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
    print(f"corpus {digest} of Python {platform.python_version()}, {sum(map(len, pieces))} characters")
    if digest != CORPUS:
        print("this is not the corpus of the committed tokenizer")
    if check:
        same = TARGET.read_text("utf-8") == text
        print("the committed tokenizer is the same" if same else "the committed tokenizer differs")
        return 0 if same else 1
    TARGET.write_text(text, "utf-8")
    print(f"wrote {TARGET.name}: {len(data['model']['vocab'])} tokens, {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
