"""A run that is watched: the same decisions and the same row, and a timeline beside it.

The watcher reads what the loop and the engine keep anyway, after each step or glide. It touches nothing:
``tests/serving/test_timeline.py`` holds the rows of watched runs equal to those of unwatched ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from keepwarm.policies.base import BlockHash
from keepwarm.serving.base import RequestId, RequestState, StepResult
from keepwarm.serving.clients import Client
from keepwarm.serving.ledger import Served
from keepwarm.serving.loop import Loop
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.row import Row
from keepwarm.serving.simulate import simulate
from keepwarm.serving.timeline import SessionTimeline, Timeline
from keepwarm.serving.timeline_points import Point, WantedBlocks, working_set
from keepwarm.workload.base import Trigger, Workload


class Recorded(NamedTuple):
    """One run."""

    row: Row
    timeline: Timeline


def record(workload: Workload, options: ServingOptions, *, trace_sha256: str) -> Recorded:
    """``simulate``, watched. ``trace_sha256``: of the file the workload is from. Raises what that does."""
    watched: list[RecordingLoop] = []
    row = simulate(workload, options, loop=partial(RecordingLoop, watched=watched))
    (loop,) = watched
    config = loop.engine.config
    return Recorded(
        row,
        Timeline(
            trace_sha256=trace_sha256,
            scheduling=options.scheduling,
            eviction=options.eviction,
            profile=options.profile.name,
            seed=options.seed,
            capacity_tokens=config.capacity_blocks * config.block_size,
            block_size=config.block_size,
            step_tokens=config.step_tokens,
            makespan_s=row.makespan_s,
            session_completion_s=row.session_completion_s,
            measured_from_s=loop.measured_from_s,
            population=options.population.value,
            gap_scale=options.gap_scale,
            host_memory_gib=options.host_memory_gib,
            sessions=loop.sessions(),
            working_set=working_set(loop.points, config.block_size),
        ),
    )


@dataclass(slots=True)
class _Progress:
    """What a request has had so far; ``seen_blocks`` of it were cached when it was last looked at."""

    hit_tokens: int = 0
    reloaded_tokens: int = 0
    recomputed_blocks: int = 0
    seen_blocks: int = 0


@dataclass(slots=True)
class _Session:
    """A session with what became of its requests, in order."""

    client: Client
    ended: list[tuple[Served, _Progress, str]] = field(default_factory=list)


class RecordingLoop(Loop):
    """The loop, watched; it puts itself into ``watched``. ``points`` are all events, not thinned."""

    def __init__(self, *arguments: Any, watched: list[RecordingLoop], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        watched.append(self)
        self.points: list[Point] = []
        self._wanted = WantedBlocks()
        self._progress: dict[RequestId, _Progress] = {}
        self._ever: set[BlockHash] = set()  # cached at some time, as the pool counts it
        self._sessions: dict[int, _Session] = {}
        self._heard = False  # of a request since the last point

    @property
    def measured_from_s(self) -> float:
        """The first start of a measured session."""
        return 0.0 if self._since is None else self._since.at_s

    def sessions(self) -> list[SessionTimeline]:
        """Those of which a request ended, in the order of their start."""
        return [
            _timeline(session, number in self._measured, self.engine.config.block_size)
            for number, session in sorted(self._sessions.items())
            if session.ended
        ]

    def _send(self, client: Client) -> None:
        super()._send(client)
        self._heard = True
        self._sessions.setdefault(client.number, _Session(client))
        served = next(reversed(self._live.values()))
        self._progress[served.state.request.id] = _Progress()
        prompt_blocks = served.state.request.prompt_tokens // self.engine.config.block_size
        self._wanted.begin(client.number, served.state.blocks, prompt_blocks)

    def _glide(self) -> StepResult | None:
        if self._heard:
            self._take_point()
        result = super()._glide()
        if result is None:  # else the step that was begun tells of it
            self._look_at(self.engine.running)
        return result

    def _note(self, result: StepResult, started_s: float) -> None:
        for request_id, found_tokens in result.hit_tokens.items():
            progress, reloaded_tokens = (
                self._progress[request_id],
                result.reloaded_tokens.get(request_id, 0),
            )
            if self._live[request_id].admitted_s < 0:
                progress.hit_tokens = found_tokens - reloaded_tokens
            progress.reloaded_tokens += reloaded_tokens
            progress.seen_blocks = found_tokens // self.engine.config.block_size
        self._look_at(self._live[request_id].state for request_id in result.scheduled)
        super()._note(result, started_s)
        self._take_point()

    def _finish(self, served: Served) -> None:
        super()._finish(served)
        client = served.client
        progress = self._progress.pop(served.state.request.id)
        self._sessions[client.number].ended.append((served, progress, _gap(client)))
        if client.next_turn is None:
            self._wanted.end(client.number)

    def _look_at(self, states: Iterable[RequestState]) -> None:
        """Blocks that were cached since the last look, each request's in order."""
        for state in states:
            progress = self._progress[state.request.id]
            if state.cached_blocks <= progress.seen_blocks:
                continue
            fresh = state.blocks[progress.seen_blocks : state.cached_blocks]
            progress.recomputed_blocks += len(self._ever.intersection(fresh))
            self._ever.update(fresh)
            progress.seen_blocks = state.cached_blocks
            self._wanted.grow(self._live[state.request.id].client.number, state.cached_blocks)

    def _take_point(self) -> None:
        self._heard = False
        engine = self.engine
        cached_blocks = engine.pool.count_cached(self._wanted.holders)
        self.points.append(
            Point(self.now_s, len(self._wanted), cached_blocks, len(engine.waiting), len(engine.running))
        )


def _gap(client: Client) -> str:
    """What the session does until its next request."""
    turn = client.next_turn
    if turn is None:
        return "end"
    if turn.trigger is Trigger.TOOL and turn.call is not None:
        return turn.call.tool
    return str(turn.trigger.value)


def _timeline(session: _Session, measured: bool, block_size: int) -> SessionTimeline:
    served, progress = [one for one, _, _ in session.ended], [one for _, one, _ in session.ended]
    return SessionTimeline(
        id=session.client.session,
        measured=measured,
        arrival_s=[one.arrival_s for one in served],
        admitted_s=[one.admitted_s for one in served],
        first_token_s=[one.first_token_s for one in served],
        end_s=[one.end_s for one in served],
        prompt_tokens=[one.state.request.prompt_tokens for one in served],
        hit_tokens=[one.hit_tokens for one in progress],
        recomputed_tokens=[one.recomputed_blocks * block_size for one in progress],
        reloaded_tokens=[one.reloaded_tokens for one in progress],
        output_tokens=[one.state.known_tokens - one.state.request.prompt_tokens for one in served],
        preemptions=[one.state.preemptions for one in served],
        gap=[gap for _, _, gap in session.ended],
    )
