"""The exception tree. Every error names the value, the place and the next step.

KeepwarmError
├── InputError            the input or the call is wrong: one line, exit 2
│   ├── BudgetError       a stated budget of memory cannot be kept
│   ├── ServerError       a server cannot be reached or started, or answers what it must not
│   ├── TraceError        a trace cannot be opened, or has nothing usable
│   ├── TemplateError     a chat template cannot be read or rendered
│   └── TokenizerError    a tokenizer cannot be loaded or reached
├── GateRefusal           a gate the user asked for said no: one line, exit 1
├── Interrupted           Ctrl-C, where what was done so far is kept: one line, exit 130
└── IntegrityError        an invariant of ours does not hold: a bug in keepwarm
"""

from __future__ import annotations


class KeepwarmError(Exception):
    """Base of everything keepwarm raises on purpose."""

    exit_code = 2


class InputError(KeepwarmError):
    """The input or the call is wrong; the message says what, where and what to do next."""


class BudgetError(InputError):
    """A stated budget of memory cannot be kept; says how much would do. What was spilled is kept."""


class ServerError(InputError):
    """A server cannot be reached or started, or answers what it must not."""


class TraceError(InputError):
    """A trace cannot be opened, or nothing in it is usable."""


class TemplateError(InputError):
    """A chat template cannot be read, compiled or rendered."""


class TokenizerError(InputError):
    """A tokenizer cannot be loaded, or the server that owns it cannot be reached."""


class GateRefusal(KeepwarmError):
    """A gate the user asked for (say ``--fail-under``) said no."""

    exit_code = 1


class Interrupted(KeepwarmError):
    """Ctrl-C in a run that goes on from where it was when it is asked for again."""

    exit_code = 130


class IntegrityError(KeepwarmError):
    """An invariant does not hold. Never expected; please report it."""

    exit_code = 70
