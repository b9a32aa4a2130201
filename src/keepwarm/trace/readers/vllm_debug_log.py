"""Logs of a vLLM server that logs its requests."""

from __future__ import annotations

import ast
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.fields import as_text, token_ids
from keepwarm.trace.records import JsonObject, Request, Skipped

_HEAD = re.compile(r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)\b")
_DETAILS = re.compile(r"\bRequest (\S+) details: (?=prompt)")
_RECEIVED = re.compile(r"\bReceived request (\S+): ")
_STRING = r"""'(?:[^'\\]+|\\.)*+'|"(?:[^"\\]+|\\.)*+\""""
_PROMPT = re.compile(rf"\bprompt: ({_STRING}|None)")
_TOKEN_IDS = re.compile(r"\bprompt_token_ids: (\[[\d, ]*\]|None)")
_CUT_TOKEN_IDS = re.compile(r"\bprompt_token_ids: \[[\d, ]*$")
_NUMBER = re.compile(r"\b([a-z]\w*)=((?:0|-?[1-9]\d{0,15})(?:\.\d{1,16})?|True|False)(?=[,)])")
_LORA = re.compile(r"\blora_request: LoRARequest\(.*?\blora_name=('[^']*'|\"[^\"]*\")")
_CONFIG = re.compile(r"with config: |non-default args: ")
_MODEL = re.compile(r"\bmodel'?[=:] ?'([^']+)'")
_BLOCK_SIZE = re.compile(r"\bblock_size'?[=:] ?(\d{1,6})\b")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

_DAYS_BEFORE_MONTH = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)  # of a leap year
_DAY_S = 86_400
_YEAR_S = 366 * _DAY_S
_MAX_WAITING = 1_000


class _Logged(msgspec.Struct, kw_only=True):
    """A request of which more lines may follow."""

    line: int
    id: str
    time_s: float | None
    prompt_text: str | None
    prompt_token_ids: list[int] | None
    params: JsonObject | None = None
    adapter: str | None = None


class VLLMDebugLogReader(Reader):
    """Logs of a vLLM server started with `--enable-log-requests` and `VLLM_LOGGING_LEVEL=DEBUG`.

    The DEBUG line of a request gives the rendered prompt and its token ids, the INFO line the sampling
    parameters and the adapter; older servers wrote both in one line. The model and the block size are taken
    from the line with the server's arguments, if the file has it. Times are seconds since the first request:
    the log has no year. Every other line is passed over.
    """

    name = "vllm-debug-log"
    sessions_known = False
    is_text = True

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, _Logged] = OrderedDict()
        self._known: set[str] = set()
        self._model = ""
        self._block_size: int | None = None
        self._origin_s: float | None = None
        self._latest_s = 0.0

    @staticmethod
    def score(record: JsonObject) -> float:
        """Nothing: a log is not JSON."""
        del record
        return 0.0

    @staticmethod
    def score_text(text: str) -> float:
        """By the line of a request; a little for any line of such a log."""
        if _DETAILS.search(text) or _RECEIVED.search(text):
            return CERTAIN
        return 0.3 if _HEAD.search(text) else 0.0

    def read(self, record: JsonObject, line: int) -> Iterable[Request | Skipped]:
        """Nothing: a log is not JSON."""
        del record, line
        return ()

    def read_text(self, text: str, line: int) -> Iterator[Request | Skipped]:
        """Requests of which all lines have been seen."""
        if "\x1b" in text:
            text = _COLOUR.sub("", text)
        details, received = _DETAILS.search(text), _RECEIVED.search(text)
        if details is not None:
            self._add(details.group(1), text[details.end() :], text, line)
        elif received is not None:
            self._receive(received.group(1), text[received.end() :], text, line)
        elif _CONFIG.search(text):
            self._configure(text)
        yield from self._ready(keep=_MAX_WAITING)

    def finish(self) -> Iterable[Request | Skipped]:
        """Requests whose parameters never came."""
        return self._ready(keep=0)

    def _configure(self, text: str) -> None:
        model, block_size = _MODEL.search(text), _BLOCK_SIZE.search(text)
        self._model = self._model or (model.group(1) if model else "")
        if self._block_size is None and block_size is not None:
            self._block_size = int(block_size.group(1)) or None

    def _add(self, request_id: str, fields: str, text: str, line: int) -> str:
        """Add a request; returns what follows its prompt."""
        prompt_text, prompt_ids, rest = _prompt_of(fields)
        logged = _Logged(
            line=line,
            id=request_id,
            time_s=self._time_of(text),
            prompt_text=prompt_text,
            prompt_token_ids=prompt_ids,
        )
        key = request_id if request_id not in self._waiting else f"{request_id} {line}"
        self._waiting[key] = logged
        self._known.add(request_id)
        return rest

    def _receive(self, request_id: str, fields: str, text: str, line: int) -> None:
        if fields.startswith("prompt: "):  # older servers: everything in one line
            fields = self._add(request_id, fields, text, line)
        logged = self._waiting.get(request_id)
        if logged is None:
            if request_id in self._known:
                return
            raise Unusable("the prompt is not in the log; start vLLM with VLLM_LOGGING_LEVEL=DEBUG")
        logged.params = _params_of(fields)
        adapter = _LORA.search(fields)
        logged.adapter = as_text(ast.literal_eval(adapter.group(1))) if adapter is not None else None

    def _ready(self, keep: int) -> Iterator[Request]:
        """Requests at the head that are complete, or too many to wait for."""
        while self._waiting:
            key, logged = next(iter(self._waiting.items()))
            if logged.params is None and len(self._waiting) <= keep:
                return
            del self._waiting[key]
            params = logged.params or {}
            yield Request(
                line=logged.line,
                id=logged.id,
                time_s=logged.time_s,
                model=logged.adapter or self._model,
                params=params if logged.adapter is None else {**params, "lora_request": logged.adapter},
                prompt_text=logged.prompt_text,
                prompt_token_ids=logged.prompt_token_ids,
                block_size=self._block_size,
            )

    def _time_of(self, text: str) -> float | None:
        head = _HEAD.search(text[:256])
        if head is None:
            return None
        month, day, hour, minute, second = map(int, head.groups())
        if not 1 <= month <= 12:
            return None
        days = _DAYS_BEFORE_MONTH[month - 1] + day
        seconds = float(days * _DAY_S + hour * 3600 + minute * 60 + second)
        # Far behind the line before it means that a year has ended between the two.
        while seconds < self._latest_s - _YEAR_S / 2:
            seconds += _YEAR_S
        self._latest_s = max(self._latest_s, seconds)
        if self._origin_s is None:
            self._origin_s = seconds
        return max(seconds - self._origin_s, 0.0)


def _prompt_of(fields: str) -> tuple[str | None, list[int] | None, str]:
    """Text and token ids of a line, and what follows the text; raises Unusable if it was cut."""
    prompt = _PROMPT.match(fields)
    if prompt is None:
        raise Unusable("the prompt's text has no end; the line was cut off")
    rest = fields[prompt.end() :]
    ids = _TOKEN_IDS.search(rest)
    if ids is None and _CUT_TOKEN_IDS.search(rest):
        raise Unusable("prompt_token_ids has no end; the line was cut off")
    try:
        text = ast.literal_eval(prompt.group(1))
        numbers = msgspec.json.decode(ids.group(1)) if ids is not None and ids.group(1) != "None" else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise Unusable("the prompt is not written as a Python text; the line is damaged") from None
    prompt_ids = token_ids(numbers)
    if not text and prompt_ids is None:
        raise Unusable("neither a prompt nor token ids in the line")
    return text or None, prompt_ids, rest


def _params_of(fields: str) -> JsonObject:
    """Keyword arguments of ``SamplingParams(...)`` that are plain values and set."""
    start = fields.find("SamplingParams(")
    if start < 0:
        return {}
    end = _closing(fields, start + len("SamplingParams"))
    try:
        call = ast.parse(fields[start:end], mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        # An object without a readable form among them, such as <Kind.A: 0>: take the numbers.
        return {name: ast.literal_eval(value) for name, value in _NUMBER.findall(fields[start:end])}
    values: JsonObject = {}
    for keyword in call.keywords if isinstance(call, ast.Call) else ():
        value = _literal(keyword.value)
        if keyword.arg is not None and value is not None:
            values[keyword.arg] = value
    return values


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None


_BRACKETS_OR_TEXT = re.compile(rf"{_STRING}|[()]", re.DOTALL)


def _closing(text: str, start: int) -> int:
    """End of the bracket that opens at ``start``."""
    depth = 0
    for match in _BRACKETS_OR_TEXT.finditer(text, start):
        if match.group() == "(":
            depth += 1
        elif match.group() == ")":
            depth -= 1
            if depth == 0:
                return match.end()
    return len(text)
