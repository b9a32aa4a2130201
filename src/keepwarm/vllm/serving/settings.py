"""What an operator can set of CacheWise, read from the environment when the engine starts.

A server must start whatever stands there: a value that is invalid warns and takes the default. Unset
altogether, ``KEEPWARM_SCHEDULING`` and ``KEEPWARM_EVICTION`` leave vLLM alone. An explicit
``COMPUTECACHE_MODE=lru`` wins over ``KEEPWARM_EVICTION``: the documented way back stays the way back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeVar

from keepwarm.scheduling.sessions import MOST_SESSIONS
from keepwarm.vllm.settings import MODE

Scheduling = Literal["fcfs", "cachewise", "active-set"]
Eviction = Literal["lru", "computecache", "cachewise"]
Choice = TypeVar("Choice", bound=str)

SCHEDULING = "KEEPWARM_SCHEDULING"
EVICTION = "KEEPWARM_EVICTION"
REUSE_MODEL = "KEEPWARM_REUSE_MODEL"
CONTROL_PORT = "KEEPWARM_CONTROL_PORT"
CONTROL_TOKEN = "KEEPWARM_CONTROL_TOKEN"  # noqa: S105 - the name of a variable
CONTROL_TOKEN_FILE = "KEEPWARM_CONTROL_TOKEN_FILE"  # noqa: S105 - the name of a variable

SCHEDULINGS: dict[str, Scheduling] = {"fcfs": "fcfs", "cachewise": "cachewise", "active-set": "active-set"}
EVICTIONS: dict[str, Eviction] = {"lru": "lru", "computecache": "computecache", "cachewise": "cachewise"}


class ServingSettings(NamedTuple):
    """The values in effect; the fields are explained in docs/reference/settings.md.

    ``scheduling`` and ``eviction`` are None where nothing of vLLM is to be touched. Of the control endpoint
    there is none without ``control_port``; its token is either given or stands in a file.
    """

    scheduling: Scheduling | None = None
    eviction: Eviction | None = None
    reuse_model: str | None = None
    sessions: int = MOST_SESSIONS
    fault_limit: int = 32
    control_port: int | None = None
    control_token: str | None = None
    control_token_file: str | None = None

    @property
    def knows_sessions(self) -> bool:
        """Whether vLLM's scheduler has to tell what sessions do."""
        return self.scheduling is not None or self.eviction == "cachewise"

    def line(self) -> str:
        """All of them but the token in one line, for the log."""
        return (
            f"scheduling={self.scheduling or 'fcfs'} eviction={self.eviction or 'stock'} "
            f"reuse_model={self.reuse_model or 'none'} sessions={self.sessions} "
            f"fault_limit={self.fault_limit} "
            f"control_port={'none' if self.control_port is None else self.control_port}"
        )


class ServingReading(NamedTuple):
    """The settings, and a line for each value that could not be used."""

    settings: ServingSettings
    warnings: list[str]


def is_serving_asked_for(environ: Mapping[str, str]) -> bool:
    """Whether one of the two switches is set at all; if not, nothing of vLLM is touched."""
    return SCHEDULING in environ or EVICTION in environ


def read_serving_settings(environ: Mapping[str, str]) -> ServingReading:
    """Never raises."""
    warnings: list[str] = []
    default = ServingSettings()
    settings = ServingSettings(
        scheduling=_choice(environ, SCHEDULING, SCHEDULINGS, "fcfs", warnings),
        eviction=_eviction(environ, warnings),
        reuse_model=_text(environ, REUSE_MODEL),
        sessions=_whole(environ, "KEEPWARM_SESSIONS", default.sessions, 1, 1_000_000, warnings),
        fault_limit=_whole(environ, "KEEPWARM_FAULT_LIMIT", default.fault_limit, 1, 1_000_000, warnings),
        control_port=_port(environ, warnings),
        control_token=_text(environ, CONTROL_TOKEN),
        control_token_file=_text(environ, CONTROL_TOKEN_FILE),
    )
    return ServingReading(settings, warnings)


def wants_cachewise(environ: Mapping[str, str]) -> bool:
    """Whether sessions decide what is evicted. Never raises."""
    return _eviction(environ, []) == "cachewise"


def pool_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment as the settings of the pool's hooks are read from it.

    ``KEEPWARM_EVICTION=computecache`` is ``COMPUTECACHE_MODE=active``, ``lru`` is ``lru``; with ``cachewise``
    the hooks are those of ``active``, with another order. Never raises.
    """
    eviction = _eviction(environ, [])
    if eviction is None:
        return dict(environ)
    return {**environ, MODE: "lru" if eviction == "lru" else "active"}


def _eviction(environ: Mapping[str, str], warnings: list[str]) -> Eviction | None:
    """The eviction asked for, unless somebody has asked ComputeCache for plain LRU."""
    eviction = _choice(environ, EVICTION, EVICTIONS, "lru", warnings)
    mode = environ.get(MODE)
    if eviction is not None and mode is not None and mode.strip().lower() != "active":
        if eviction != "lru":
            warnings.append(f"{MODE}={mode!r} wins over {EVICTION}={environ[EVICTION]!r}; taking lru")
        return "lru"
    return eviction


def _choice(
    environ: Mapping[str, str],
    name: str,
    choices: Mapping[str, Choice],
    default: Choice,
    warnings: list[str],
) -> Choice | None:
    given = environ.get(name)
    if given is None:
        return None
    text = given.strip().lower()
    if text not in choices:
        warnings.append(f"{name}={given!r} is none of {', '.join(choices)}; taking {default}")
        return default
    return choices[text]


def _text(environ: Mapping[str, str], name: str) -> str | None:
    return environ.get(name, "").strip() or None


def _whole(
    environ: Mapping[str, str], name: str, default: int, least: int, most: int, warnings: list[str]
) -> int:
    text = environ.get(name)
    if text is None:
        return default
    try:
        value = int(text.strip())
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        warnings.append(f"{name}={text!r} is no number from {least} to {most}; taking {default}")
        return default
    return value


def _port(environ: Mapping[str, str], warnings: list[str]) -> int | None:
    text = environ.get(CONTROL_PORT, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535):
        warnings.append(f"{CONTROL_PORT}={text!r} is no port from 0 to 65535; no control endpoint")
        return None
    return int(text)
