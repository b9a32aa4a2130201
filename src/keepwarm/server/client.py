"""The few things asked of a running vLLM server; whatever goes wrong is one line."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple, Self

import httpx2

from keepwarm._errors import InputError, ServerError
from keepwarm._hosts import is_loopback
from keepwarm._json import parsed
from keepwarm._text import clip, visible
from keepwarm._urls import http_url
from keepwarm.server.stream import Generated, StreamReader

_CONNECT_S = 10.0
_SHOWN_CHARACTERS = 200
# vLLM closes a connection that was idle for 5 s; one that may be closing must not cost a request.
_KEEPALIVE_S = 1.0


class RequestFailed(Exception):
    """A completion came to nothing; the message is the reason."""


class ServedModel(NamedTuple):
    """A model as ``/v1/models`` lists it; ``root`` is what it was loaded from, as the server names it."""

    id: str
    max_model_len: int
    root: str | None = None


class VllmClient:
    """One connection after another to ``base_url``; a context manager. ``transport`` replaces the network.

    Every method raises ServerError, unless it says something else. The API key is in no message.
    """

    def __init__(
        self, base_url: str, *, api_key: str | None, transport: httpx2.BaseTransport | None, timeout_s: float
    ) -> None:
        url = _checked_url(base_url)
        self.name = str(url).rstrip("/")
        self.is_local = is_loopback(url.host)
        self._key = _checked_key(api_key)
        self._client = httpx2.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx2.Timeout(timeout_s, connect=_CONNECT_S),
            limits=httpx2.Limits(keepalive_expiry=_KEEPALIVE_S),
            transport=transport,
            trust_env=not self.is_local,  # no proxy stands before a server on this machine
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def model(self, wanted: str | None) -> ServedModel:
        """The model named ``wanted``, else the first that is no adapter of another."""
        cards = self._json("GET", "/v1/models").get("data")
        if not isinstance(cards, list) or not all(isinstance(card, dict) for card in cards):
            raise ServerError(f"{self.name}/v1/models lists no models; is this vLLM?")
        if wanted is None:
            chosen = next((card for card in cards if not card.get("parent")), None)
        else:
            chosen = next((card for card in cards if card.get("id") == wanted), None)
        if chosen is None:
            names = ", ".join(repr(card.get("id")) for card in cards) or "nothing"
            raise ServerError(
                f"{self.name} does not serve {wanted or 'any model'!r}, it lists {names}; name one of those"
            )
        model_id, max_model_len = chosen.get("id"), chosen.get("max_model_len")
        if not isinstance(model_id, str) or type(max_model_len) is not int:
            raise ServerError(
                f"{self.name}/v1/models gives no max_model_len for {model_id!r}; is this vLLM itself, "
                "not a gateway before it?"
            )
        root = chosen.get("root")
        return ServedModel(model_id, max_model_len, root if isinstance(root, str) else None)

    def version(self) -> str:
        """Of vLLM (vllm/entrypoints/serve/instrumentator)."""
        version = self._json("GET", "/version").get("version")
        if not isinstance(version, str):
            raise ServerError(f"{self.name}/version names no version; is this vLLM?")
        return version

    def device_type(self) -> str | None:
        """``cpu``, ``cuda`` and the like; None where the server does not tell, as without its dev mode."""
        response = self._send("GET", "/server_info?config_format=json")
        if response.status_code != 200:
            return None
        try:
            device = parsed(response.content)["vllm_config"]["device_config"]
        except (ValueError, KeyError, TypeError):
            return None
        told = device.get("device_type", device.get("device")) if isinstance(device, dict) else None
        return told if isinstance(told, str) and told else None

    def metrics_text(self) -> str:
        """What Prometheus would scrape."""
        return self._answer("GET", "/metrics").text

    def tokenize(self, model: str, text: str) -> list[int]:
        """The ids of ``text`` alone, no special token added."""
        try:
            return self.tokenize_body({"model": model, "prompt": text, "add_special_tokens": False})
        except RequestFailed as error:
            raise ServerError(f"{self.name}/tokenize refuses plain text: {error}; is this vLLM?") from error

    def tokenize_body(self, body: dict[str, Any]) -> list[int]:
        """The ids of a prompt, or of messages in the server's chat template, as ``/tokenize`` takes them.

        Raises RequestFailed: the server refuses this very body.
        """
        response = self._send("POST", "/tokenize", body)
        if response.status_code in (400, 422):
            raise RequestFailed(f"HTTP {response.status_code}: {self._shown(response.text)}")
        ids = self._decoded(response, "/tokenize").get("tokens")
        if not isinstance(ids, list) or not all(type(token) is int and token >= 0 for token in ids):
            raise ServerError(f"{self.name}/tokenize answered without a list of token ids; is this vLLM?")
        return ids

    def reset_prefix_cache(self) -> bool | None:
        """Empty the cache: True, or False if blocks are in use, or None where the server has no such door."""
        response = self._send("POST", "/reset_prefix_cache")
        if response.status_code in (403, 404, 405):
            return None
        success = self._decoded(response, "/reset_prefix_cache").get("success")
        if not isinstance(success, bool):
            raise ServerError(
                f"{self.name}/reset_prefix_cache does not say whether it did; is this vLLM 0.32?"
            )
        return success

    def complete(self, model: str, prompt: list[int], *, output_tokens: int, seed: int) -> Generated:
        """Generate greedily from token ids, streamed. Raises RequestFailed in place of ServerError."""
        body = {
            "model": model,
            "prompt": prompt,
            "max_tokens": output_tokens,
            "ignore_eos": True,  # the same number of blocks every time
            "temperature": 0,
            "seed": seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        return self.generate("/v1/completions", body)

    def generate(self, path: str, body: dict[str, Any]) -> Generated:
        """The answer to a body that asks for a stream with usage. Raises RequestFailed, not ServerError."""
        reader = StreamReader()
        try:
            with self._client.stream("POST", path, json=body) as response:
                if response.status_code != 200:
                    response.read()
                    raise RequestFailed(f"HTTP {response.status_code}: {self._shown(response.text)}")
                return reader.read(response.iter_lines())
        except ValueError as error:
            raise RequestFailed(self._shown(str(error))) from error
        except httpx2.HTTPError as error:
            raise RequestFailed(self._shown(f"{type(error).__name__}: {error}")) from error

    def _json(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return self._decoded(self._answer(method, path, body), path)

    def _decoded(self, response: httpx2.Response, path: str) -> dict[str, Any]:
        self._refuse_failure(response, path)
        try:
            answer = parsed(response.content)
        except ValueError as error:
            raise ServerError(
                f"{self.name}{path} answered with something that is not JSON; is this vLLM?"
            ) from error
        if not isinstance(answer, dict):
            raise ServerError(f"{self.name}{path} answered with no JSON object; is this vLLM?")
        return answer

    def _answer(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx2.Response:
        response = self._send(method, path, body)
        self._refuse_failure(response, path)
        return response

    def _refuse_failure(self, response: httpx2.Response, path: str) -> None:
        if response.status_code == 200:
            return
        next_step = {
            401: "put its key into KEEPWARM_API_KEY",
            403: "put its key into KEEPWARM_API_KEY",
            404: "is this the address of vLLM, without a path behind it?",
        }.get(response.status_code, "look at the server's log")
        raise ServerError(
            f"{self.name}{path} answered {response.status_code}: {self._shown(response.text)!r}; {next_step}"
        )

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx2.Response:
        try:
            return self._client.request(method, path, json=body)
        except httpx2.HTTPError as error:
            reason = self._shown(str(error) or type(error).__name__)
            raise ServerError(
                f"cannot reach {self.name}{path}: {reason}; start the server, or name another"
            ) from error

    def _shown(self, text: str) -> str:
        """What a server said, safe to show: short, one line, and without the key, should it be repeated."""
        safe = text.replace(self._key, "‹key›") if self._key else text
        return clip(visible(safe), _SHOWN_CHARACTERS)


def _checked_url(base_url: str) -> httpx2.URL:
    """``base_url`` without ``/v1``. Raises InputError; a password in it is not repeated."""
    if any(mark in base_url for mark in "@?#"):
        raise InputError(
            "the base URL carries a password, a query or a fragment; give scheme, host and port alone, "
            "and the key in KEEPWARM_API_KEY"
        )
    url = http_url(base_url)
    if url is None:
        raise InputError(f"{base_url!r} is no http or https URL; write http://localhost:8000")
    return url.copy_with(path=url.path.rstrip("/").removesuffix("/v1") + "/")


def _checked_key(api_key: str | None) -> str:
    """The key, empty if there is none. Raises InputError: it cannot be sent; it is not repeated."""
    key = (api_key or "").strip()
    if not (key.isascii() and (key.isprintable() or not key)):
        raise InputError("the API key holds characters that HTTP cannot carry; check KEEPWARM_API_KEY")
    return key
