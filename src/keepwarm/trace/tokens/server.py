"""The tokenizer of a running vLLM server, asked through its ``/tokenize``."""

from __future__ import annotations

from typing import Any

import httpx2
import numpy as np

from keepwarm._errors import TokenizerError
from keepwarm._json import parsed
from keepwarm._urls import http_url
from keepwarm.trace.prompt import Offsets
from keepwarm.trace.tokens.base import Encoded, Tokenizer
from keepwarm.trace.tokens.pieces import starts_of_pieces

_TIMEOUT_S = 60.0


class ServerTokenizer(Tokenizer):
    """Every text is one request to the server. ``transport`` replaces the network in tests."""

    def __init__(self, url: str, *, transport: httpx2.BaseTransport | None = None) -> None:
        self.name = url
        self.exact = True
        self.note = f"tokens counted by the server at {url}"
        self.special_tokens = {}
        if http_url(url) is None:
            raise TokenizerError(f"{url!r} is no address of a server; write http://localhost:8000")
        self._client = httpx2.Client(base_url=url.rstrip("/"), timeout=_TIMEOUT_S, transport=transport)

    def encode(self, text: str) -> Encoded:
        answer = self._ask(
            {
                "prompt": text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
                "add_special_tokens": False,
                "return_token_strs": True,
            }
        )
        tokens = answer.get("tokens")
        if not isinstance(tokens, list) or not all(type(token) is int and token < 2**31 for token in tokens):
            raise TokenizerError(f"{self.name}/tokenize answered without a list of token ids; is this vLLM?")
        pieces = answer.get("token_strs")
        ids = np.array(tokens, dtype=np.int32)
        return Encoded(ids, self._starts(text, len(tokens), pieces))

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def _starts(self, text: str, tokens: int, pieces: Any) -> Offsets:
        if (
            isinstance(pieces, list)
            and len(pieces) == tokens
            and all(isinstance(piece, str) for piece in pieces)
        ):
            return starts_of_pieces(text, pieces)
        return spread(tokens, len(text))

    def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            response = self._client.post("/tokenize", json=body)
        except httpx2.HTTPError as error:
            raise TokenizerError(
                f"cannot reach the tokenizer at {self.name!r}: {error}; start the server, "
                "or pass a folder with tokenizer.json"
            ) from error
        if response.status_code != 200:
            raise TokenizerError(
                f"{self.name}/tokenize answered {response.status_code}: {response.text[:200]!r}; "
                "is this a vLLM server with a tokenizer?"
            )
        try:
            answer = parsed(response.content)
        except ValueError as error:
            raise TokenizerError(
                f"{self.name}/tokenize answered with something that is not JSON; is this vLLM?"
            ) from error
        if not isinstance(answer, dict):
            raise TokenizerError(
                f"{self.name}/tokenize answered with {type(answer).__name__}, not an object; is this vLLM?"
            )
        return answer


def spread(tokens: int, chars: int) -> Offsets:
    """Starts of tokens of unknown length: evenly over the text, sorted."""
    return (np.arange(tokens, dtype=np.int64) * chars // max(tokens, 1)).astype(np.int32)
