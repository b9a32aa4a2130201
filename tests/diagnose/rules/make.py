"""Writes the traffic of the rule suite: ``python -m tests.diagnose.rules.make``.

For every cause a folder with ``bad.jsonl`` (shows the cause), ``good.jsonl`` (nearly does),
``options.json`` where the diagnosis needs options, and chat templates where the records name them.
The findings beside them, ``report.txt``, are written by the test itself when it is asked to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.diagnose.rule_traffic import conversations, engines, prompts, tools
from tests.diagnose.rule_traffic.parts import Pair, Record

HERE = Path(__file__).parent

BUILDERS: dict[str, Callable[[], Pair]] = {
    "clock": prompts.clock,
    "random-id": prompts.random_id,
    "identity": prompts.identity,
    "counter": prompts.counter,
    "retrieved-context": prompts.retrieved_context,
    "moving-block": conversations.moving_block,
    "example-order": prompts.example_order,
    "tool-order": tools.tool_order,
    "tool-set": tools.tool_set,
    "schema-key-order": prompts.schema_key_order,
    "args-key-order": conversations.args_key_order,
    "whitespace": prompts.whitespace,
    "history-rewrite": conversations.history_rewrite,
    "media-reencode": conversations.media_reencode,
    "model-switch": engines.model_switch,
    "template-clock": engines.template_clock,
    "template-history": engines.template_history,
    "retokenization": engines.retokenization,
    "salt": engines.salt,
    "below-block": prompts.below_block,
    "skip-reads": engines.skip_reads,
    "routing": engines.routing,
    "eviction": engines.eviction,
    "expired": engines.expired,
}


def files_of(code: str) -> dict[str, str]:
    """Name and text of every file of a cause's folder, the report aside."""
    pair = BUILDERS[code]()
    files = {"bad.jsonl": _lines(pair.bad), "good.jsonl": _lines(pair.good), **pair.files}
    if pair.options:
        files["options.json"] = json.dumps(pair.options) + "\n"
    return files


def _lines(records: Iterable[Record]) -> str:
    return "".join(json.dumps(r, ensure_ascii=False, separators=(",", ":")) + "\n" for r in records)


def main() -> None:
    """Write all folders."""
    for code in BUILDERS:
        folder = HERE / code
        folder.mkdir(exist_ok=True)
        for name, text in files_of(code).items():
            (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
