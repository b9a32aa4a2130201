"""One small module per trace format; ``READERS`` is the registry."""

from __future__ import annotations

from keepwarm.trace.readers.agent_sessions import AgentSessionsReader
from keepwarm.trace.readers.anthropic_messages import AnthropicMessagesReader
from keepwarm.trace.readers.bailian import BailianReader
from keepwarm.trace.readers.base import Reader
from keepwarm.trace.readers.claude_code import ClaudeCodeReader
from keepwarm.trace.readers.codex_rollout import CodexRolloutReader
from keepwarm.trace.readers.langfuse import LangfuseReader
from keepwarm.trace.readers.litellm import LiteLLMReader
from keepwarm.trace.readers.mooncake import MooncakeReader
from keepwarm.trace.readers.openai_batch import OpenAIBatchReader
from keepwarm.trace.readers.openai_chat import OpenAIChatReader
from keepwarm.trace.readers.openai_responses import OpenAIResponsesReader
from keepwarm.trace.readers.otel_genai import OTelGenAIReader
from keepwarm.trace.readers.sharegpt import ShareGPTReader
from keepwarm.trace.readers.swe_agent_traj import SWEAgentTrajReader
from keepwarm.trace.readers.vllm_debug_log import VLLMDebugLogReader

READERS: dict[str, type[Reader]] = {
    reader.name: reader
    for reader in (
        OpenAIChatReader,
        OpenAIResponsesReader,
        OpenAIBatchReader,
        AnthropicMessagesReader,
        ClaudeCodeReader,
        CodexRolloutReader,
        LangfuseReader,
        LiteLLMReader,
        ShareGPTReader,
        SWEAgentTrajReader,
        OTelGenAIReader,
        VLLMDebugLogReader,
        MooncakeReader,
        BailianReader,
        AgentSessionsReader,
    )
}
"""Every reader by the name of its format; on a tie of scores the earlier one wins."""

FORMATS: tuple[str, ...] = tuple(READERS)
"""Names for ``--format``."""
