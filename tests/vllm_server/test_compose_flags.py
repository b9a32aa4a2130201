"""What deploy/compose.yaml passes to vLLM, by vLLM's own parser."""

from __future__ import annotations

import re

from tests.deploy.compose import resolved, services


def test_vllm_takes_every_flag_of_the_stack() -> None:
    from vllm.entrypoints.openai.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    command = resolved(services()["canary"]["command"], {})
    assert not [word for word in command if re.search(r"\$\{", word)]
    parser = make_arg_parser(FlexibleArgumentParser())
    arguments = parser.parse_args(["--model", *command])
    assert arguments.max_model_len == 1024
    assert arguments.num_gpu_blocks_override == 128
    assert arguments.gpu_memory_utilization == 0.4
    assert arguments.enable_prompt_tokens_details
    assert arguments.kv_cache_metrics
