"""Devin: a session that works on the hosted repository and opens a pull request.

What leaves this machine is the prompt made of the redacted task, a title with the finding's id, a tag
and the repository's name. A task has one session: its key is made of the task's digest, the
repository and the service, is written down before anything is sent, and is the session's tag, so that
it is found again after a crash, a lost answer, or from another machine.
"""

from __future__ import annotations

import hashlib
import json
import os

import httpx2
import msgspec

from keepwarm._errors import InputError
from keepwarm._text import clip, visible
from keepwarm.repair.agents.authorization import authorize, repository_of
from keepwarm.repair.agents.base import (
    Agent,
    AgentRun,
    Assignment,
    Clock,
    Followed,
    Outcome,
    Say,
    Submitted,
)
from keepwarm.repair.agents.devin_answers import Session, State
from keepwarm.repair.agents.devin_api import V1, V3, SessionsApi, Wanted
from keepwarm.repair.agents.ledger import Entry, Ledger
from keepwarm.repair.agents.opening import Opening, cap_tag, tag_of
from keepwarm.repair.agents.wire import KEY_VARIABLE, Refused, Wire

_FIRST_POLL_S, _LONGEST_POLL_S = 5.0, 60.0
_SURE_AFTER = 3  # polls that say the same: a pull request may follow its session by a moment
_TAIL_LINES, _LONGEST_LINE, _LONGEST_MESSAGE = 40, 400, 20_000
_FINAL: dict[State, Outcome] = {
    "waiting": Outcome.BLOCKED,
    "finished": Outcome.NO_CHANGE,
    "expired": Outcome.EXPIRED,
    "cancelled": Outcome.CANCELLED,
    "failed": Outcome.FAILED,
    "spent": Outcome.SPENT,
}
_HOW_TO_END = """

## How to hand it in

Work from commit {commit} of {repository}. Open one pull request there, from the new branch
{branch}, and put that branch into the structured output.
"""


class DevinOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of Devin; the cap on spending has no default on purpose."""

    authorize: str | None
    max_acu_limit: int
    version: str | None = None  # v1 or v3; None: as the key's prefix says
    organisation: str | None = None  # v3 only
    api_url: str = "https://api.devin.ai"
    remote: str = "origin"
    limit_s: float = 7200.0
    attempt: int = 1  # another one opens another session on purpose
    timeout_s: float = 30.0


class DevinAgent(Agent):
    """One task in one session."""

    name = "devin"

    def __init__(
        self,
        options: DevinOptions,
        ledger: Ledger,
        clock: Clock | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        if options.max_acu_limit < 1 or options.attempt < 1:
            raise InputError("--max-acu-limit and --attempt are whole numbers above 0; give 1 or more")
        self._options = options
        self._ledger = ledger
        self._clock = clock or Clock()
        key = os.environ.get(KEY_VARIABLE, "")
        version = _version(options.version, key)
        self._wire = Wire(
            options.api_url,
            key,
            clock=self._clock,
            limit_s=options.limit_s,
            timeout_s=options.timeout_s,
            transport=transport,
        )
        self._api: SessionsApi
        if version == "v1":
            self._api = V1(self._wire)
        elif options.organisation is None:
            raise InputError(
                "v3 of Devin's API needs the organisation; give --organisation, or set DEVIN_ORG_ID"
            )
        else:
            self._api = V3(self._wire, options.organisation)
        self._started_s = self._clock.now_s()
        self._last: Session | None = None
        self._log: list[str] = []

    def submit(self, assignment: Assignment) -> Submitted:
        self._assignment = assignment
        finding = assignment.task.finding
        self._repository = repository_of(assignment.repository, self._options.remote)
        authorize(self._options.authorize, self._repository, finding.id)
        key = self._key()
        entry = Entry(
            key=key,
            repository=f"{self._repository.host}/{self._repository.name}",
            finding=finding.id,
            max_acu_limit=self._options.max_acu_limit,
        )
        return Opening(self._api, self._ledger, self._clock).once(entry, self._wanted(key))

    def follow(self, submitted: Submitted, say: Say) -> Followed:
        deadline_s = self._clock.now_s() + self._options.limit_s
        pause_s, said, times = _FIRST_POLL_S, "", 0
        while True:
            session = self._ask(submitted.id)
            now = "gone" if session is None else visible(self._wire.without_key(session.said))
            times = times + 1 if now == said else 1
            if times == 1:
                said, line = now, f"session {visible(submitted.id)}: {now}"
                self._log.append(line)
                say(line)
            self._last = session or self._last
            final = self._final(session, now, is_sure=times >= _SURE_AFTER)
            if final is not None:
                return final
            if self._clock.now_s() + pause_s > deadline_s:
                reason = f"still {now} after {self._options.limit_s:g} s; the same call goes on"
                return Followed(outcome=Outcome.TIMED_OUT, reason=reason)
            self._clock.sleep(pause_s)
            pause_s = min(1.5 * pause_s, _LONGEST_POLL_S)

    def collect(self, submitted: Submitted, followed: Followed) -> AgentRun:
        last = self._last
        urls = last.pull_requests if last is not None else ()
        foreign = [url for url in urls if not self._repository.holds(url)]
        own = next((url for url in urls if self._repository.holds(url)), None)
        recent = (last.messages if last is not None else ())[-_TAIL_LINES:]
        messages = [self._wire.without_key(clip(text, _LONGEST_MESSAGE)) for text in recent]
        lines = [*self._log, *(line for text in messages for line in text.splitlines())]
        return AgentRun(
            agent=self.name,
            task=self._assignment.task.id,
            task_sha256=self._assignment.sha256,
            finding=self._assignment.task.finding.id,
            base_commit=self._assignment.base_commit,
            outcome=followed.outcome,
            reason=followed.reason,
            branch=last.branch if last is not None and own is not None else None,
            pull_request=own,
            out_of_scope=tuple(f"pull request {visible(url)}" for url in foreign),
            cost_acus=None if last is None else last.acus,
            wall_s=round(self._clock.now_s() - self._started_s, 3),
            session=submitted,
            log_tail=tuple(clip(visible(line), _LONGEST_LINE) for line in lines[-_TAIL_LINES:]),
        )

    def close(self) -> None:
        self._wire.close()

    def _key(self) -> str:
        parts = [self._assignment.sha256, *self._repository, self._wire.name, self._options.attempt]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _wanted(self, key: str) -> Wanted:
        finding, repository = self._assignment.task.finding, self._repository
        end = _HOW_TO_END.format(
            commit=self._assignment.base_commit,
            repository=f"{repository.host}/{repository.name}",
            branch=f"keepwarm/{key[:12]}",
        )
        return Wanted(
            prompt=self._assignment.prompt + end,
            title=f"keepwarm {finding.id}: {finding.cause}",
            tags=(tag_of(key), cap_tag(self._options.max_acu_limit)),
            repository=repository.name,
            max_acu_limit=self._options.max_acu_limit,
        )

    def _ask(self, session: str) -> Session | None:
        """None if the service knows no such session."""
        try:
            return self._api.session(session)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def _final(self, session: Session | None, said: str, *, is_sure: bool) -> Followed | None:
        if session is None:
            gone = Followed(outcome=Outcome.CANCELLED, reason="Devin does not know the session any more")
            return gone if is_sure else None
        if session.state == "working":
            return None
        if any(not self._repository.holds(url) for url in session.pull_requests):
            where = f"{self._repository.host}/{self._repository.name}"
            return Followed(outcome=Outcome.OUT_OF_SCOPE, reason=f"it opened a pull request outside {where}")
        if session.pull_requests and session.state in ("waiting", "finished", "expired"):
            return Followed(outcome=Outcome.DONE, reason=f"{said}, and there is a pull request")
        if session.state in ("waiting", "finished") and not is_sure:
            return None
        missing = "" if session.pull_requests else ", and there is no pull request"
        return Followed(outcome=_FINAL[session.state], reason=f"{said}{missing}")


def _version(given: str | None, key: str) -> str:
    if given is not None:
        return given
    if key.startswith("cog_"):
        return "v3"
    if key.startswith("apk_"):
        return "v1"
    if not key.strip():
        raise InputError(f"no key for Devin; set {KEY_VARIABLE} in the environment")
    raise InputError(
        f"{KEY_VARIABLE} does not say which version of the API it is for; add --api v3 or --api v1"
    )
