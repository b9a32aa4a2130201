"""One rule per cause. To add a cause: copy the smallest neighbour and list it here."""

from __future__ import annotations

from keepwarm.diagnose.rules.args_key_order import ArgsKeyOrder
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.rules.below_block import BelowBlock
from keepwarm.diagnose.rules.clock import Clock
from keepwarm.diagnose.rules.counter import CounterRule
from keepwarm.diagnose.rules.eviction import Eviction
from keepwarm.diagnose.rules.example_order import ExampleOrder
from keepwarm.diagnose.rules.expired import Expired
from keepwarm.diagnose.rules.history_rewrite import HistoryRewrite
from keepwarm.diagnose.rules.identity import Identity
from keepwarm.diagnose.rules.media_reencode import MediaReencode
from keepwarm.diagnose.rules.model_switch import ModelSwitch
from keepwarm.diagnose.rules.moving_block import MovingBlock
from keepwarm.diagnose.rules.random_id import RandomId
from keepwarm.diagnose.rules.retrieved_context import RetrievedContext
from keepwarm.diagnose.rules.routing import Routing
from keepwarm.diagnose.rules.salt import Salt
from keepwarm.diagnose.rules.schema_key_order import SchemaKeyOrder
from keepwarm.diagnose.rules.skip_reads import SkipReads
from keepwarm.diagnose.rules.template_clock import TemplateClock
from keepwarm.diagnose.rules.template_history import Retokenization, TemplateHistory
from keepwarm.diagnose.rules.tool_order import ToolOrder
from keepwarm.diagnose.rules.tool_set import ToolSet
from keepwarm.diagnose.rules.whitespace import Whitespace

__all__ = ["CAUSES", "Candidate", "Rule"]

_RULES: tuple[type[Rule], ...] = (
    Clock,
    RandomId,
    Identity,
    CounterRule,
    RetrievedContext,
    MovingBlock,
    ExampleOrder,
    ToolOrder,
    ToolSet,
    SchemaKeyOrder,
    ArgsKeyOrder,
    Whitespace,
    HistoryRewrite,
    MediaReencode,
    ModelSwitch,
    TemplateClock,
    TemplateHistory,
    Retokenization,
    Salt,
    BelowBlock,
    SkipReads,
    Routing,
    Eviction,
    Expired,
)

CAUSES: dict[str, type[Rule]] = {rule.code: rule for rule in _RULES}
"""Every cause by its code, in the order of the documentation."""
