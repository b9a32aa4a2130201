"""A replica is killed while it answers, and comes back: what clients saw, and what the cache lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Container, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import count
from typing import Any, NamedTuple

from scripts.fleet import metrics
from scripts.fleet.local import Fleet, replica_name
from scripts.fleet.sessions import Answer, Context, Turn, ask, ask_all

SESSIONS = 6
FIRST_TOKENS, TURN_TOKENS = 256, 32
SHORT_ANSWER = 2  # tokens
# Tokens; such answers are under way when the replica is killed. If one was over before, longer ones are.
LONG_ANSWERS = (512, 1024, 2048)
IN_FLIGHT_S = 0.2  # what a stopped server had sent has arrived
_drills = count()


class Loss(NamedTuple):
    """What a killed replica cost. Tokens are prompt tokens, times wall time of the client."""

    sessions: int
    moved_sessions: int  # the killed replica had served them, another one did next
    under_way: int  # requests that the killed replica was answering
    streams_under_way: int  # of them those whose answer had begun
    outcomes: dict[str, int]  # of all requests that were under way anywhere, by status
    retries: int  # the router's own count
    longest_request_s: float  # while the replica was down
    lost_cached_tokens: int  # would have been hits of the moved sessions' next requests
    hit_rate_before: float
    hit_rate_after: float  # of the first requests without the replica
    noticed_after_s: float  # until the router's health checks say that it is down
    recovered_after_s: float  # from its first answer to /health until the router counts on it again
    served_again: bool  # it answered requests of the router after that

    def line(self) -> str:
        """For people."""
        return (
            f"{self.under_way} requests were under way at the killed replica, {self.streams_under_way} of "
            f"them streams; of all {self.outcomes}; {self.lost_cached_tokens} cached tokens lost; the router "
            f"noticed after {self.noticed_after_s:.1f} s, and counted on it again "
            f"{self.recovered_after_s:.1f} s after its return"
        )

    def document(self) -> dict[str, Any]:
        """As JSON; times and rates rounded."""
        values = self._asdict()
        return {key: round(value, 3) if isinstance(value, float) else value for key, value in values.items()}


def run_drill(fleet: Fleet, victim: int = 0) -> Loss:
    """On a fleet whose router keeps sessions where they are. Raises TimeoutError: router or replica hang.

    Four rounds of requests: two that fill the caches, one during which the victim is killed, one without it,
    and at the end one with it again, newcomers among them.
    """
    drill, url = next(_drills), fleet.router.base_url
    contexts = _spread(fleet, f"drill {drill}")
    ask_all(url, [context.turn(TURN_TOKENS, SHORT_ANSWER) for context in contexts])
    before = ask_all(url, [context.turn(TURN_TOKENS, SHORT_ANSWER) for context in contexts])
    at_victim = {answer.session for answer in before if answer.replica == replica_name(victim)}
    retries = _retries(fleet)
    during, streams, noticed_s = _killed(fleet, victim, contexts, at_victim)
    after = ask_all(url, [context.turn(TURN_TOKENS, SHORT_ANSWER) for context in contexts])
    retries = _retries(fleet) - retries
    fleet.restart(victim)
    address = fleet.replicas[victim].base_url
    recovered_s = metrics.wait_until(lambda: fleet.router.healthy()[address], "the router counts on it again")
    # A router may leave the sessions where they went; new ones come to whoever has none.
    contexts += [Context(f"drill {drill} newcomer {at}", str(drill), FIRST_TOKENS) for at in range(SESSIONS)]
    again = ask_all(url, [context.turn(TURN_TOKENS, SHORT_ANSWER) for context in contexts])
    moved = [answer for answer in after if answer.session in at_victim]
    cached = {answer.session: answer.prompt_tokens for answer in before}
    return Loss(
        sessions=len(before),
        moved_sessions=sum(answer.replica not in ("", replica_name(victim)) for answer in moved),
        under_way=len(at_victim),
        streams_under_way=streams,
        outcomes=dict(sorted(Counter(_outcome(answer) for answer in during).items())),
        retries=round(retries),
        longest_request_s=max(answer.took_s for answer in (*during, *after)),
        lost_cached_tokens=sum(cached[answer.session] - answer.cached_tokens for answer in moved),
        hit_rate_before=_hit_rate(before),
        hit_rate_after=_hit_rate(after),
        noticed_after_s=noticed_s,
        recovered_after_s=recovered_s,
        served_again=any(answer.replica == replica_name(victim) for answer in again),
    )


def _spread(fleet: Fleet, seed: str) -> list[Context]:
    """Sessions of which at least two are at each replica: whoever hashes names may send all to one."""
    found: list[Context] = []
    served: Counter[str] = Counter()
    for number in range(50):
        context = Context(f"{seed} session {number}", seed, FIRST_TOKENS)
        replica = ask(fleet.router.base_url, context.turn(0, SHORT_ANSWER)).replica
        if served[replica] < SESSIONS // len(fleet.replicas):
            served[replica] += 1
            found.append(context)
        if len(found) == SESSIONS:
            return found
    raise TimeoutError(f"50 sessions are spread as {dict(served)}")


class _Asked(NamedTuple):
    """A request on its way."""

    turn: Turn
    begun: threading.Event
    answer: Future[Answer]


def _killed(
    fleet: Fleet, victim: int, contexts: Sequence[Context], at_victim: Container[str]
) -> tuple[list[Answer], int, float]:
    """Long answers, every second one of each side a stream; the victim dies while it gives all of its own.

    The answers, the victim's streams, and the seconds until the router knew.
    """
    url, address = fleet.router.base_url, fleet.replicas[victim].base_url
    with ThreadPoolExecutor(len(contexts)) as pool:
        for answer_tokens in LONG_ANSWERS:
            asked = _ask_long(pool, url, contexts, at_victim, answer_tokens)
            its = [request for request in asked if request.turn.session in at_victim]
            if _are_under_way(fleet, victim, its):
                fleet.kill(victim)
                noticed_s = metrics.wait_until(
                    lambda: not fleet.router.healthy()[address], "the router notices"
                )
                streams = sum(request.turn.is_streamed for request in its)
                return [request.answer.result() for request in asked], streams, noticed_s
            fleet.resume(victim)
            wait([request.answer for request in asked])
    raise TimeoutError(f"the victim had answered {answer_tokens} tokens before anybody saw it at work")


def _ask_long(
    pool: ThreadPoolExecutor,
    url: str,
    contexts: Sequence[Context],
    at_victim: Container[str],
    answer_tokens: int,
) -> list[_Asked]:
    asked = []
    # Which replica served which session is chance: of the victim's sessions some shall be streams, some not.
    for is_its in (True, False):
        side = [context for context in contexts if (context.name in at_victim) is is_its]
        for at, context in enumerate(side):
            turn = context.turn(TURN_TOKENS, answer_tokens, is_streamed=at % 2 == 0)
            begun = threading.Event()
            asked.append(_Asked(turn, begun, pool.submit(ask, url, turn, begun=begun)))
    return asked


def _are_under_way(fleet: Fleet, victim: int, its: Sequence[_Asked]) -> bool:
    """Wait until the victim answers all of them, streams begun, and stop it there. False: it was faster."""

    def is_one_over() -> bool:
        return any(request.answer.done() for request in its)

    def are_all_there() -> bool:
        if not all(request.begun.is_set() for request in its if request.turn.is_streamed):
            return False
        return fleet.counts(victim).total("vllm:num_requests_(running|waiting)") >= len(its)

    metrics.wait_until(lambda: is_one_over() or are_all_there(), "the victim answers its sessions")
    fleet.pause(victim)  # or an answer may end between the look and the kill
    time.sleep(IN_FLIGHT_S)
    return not is_one_over()


def _retries(fleet: Fleet) -> float:
    return metrics.read(fleet.router.metrics_url).total("vllm_router_retries_total")


def _outcome(answer: Answer) -> str:
    return str(answer.status) if answer.status else "cut off"


def _hit_rate(answers: Sequence[Answer]) -> float:
    asked = sum(answer.prompt_tokens for answer in answers)
    return sum(answer.cached_tokens for answer in answers) / asked if asked else 0.0
