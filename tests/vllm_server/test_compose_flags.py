"""What deploy/compose.yaml passes to `vllm serve`, by vLLM's own parser."""

from __future__ import annotations

from tests.deploy.compose import resolved, services


def test_vllm_takes_every_flag_of_the_stack() -> None:
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    service = resolved(services()["canary"], {})
    program, *subcommand = service["entrypoint"]
    assert program == "vllm"
    parser = FlexibleArgumentParser()
    serve = ServeSubcommand()
    serve.subparser_init(parser.add_subparsers())
    arguments = parser.parse_args([*subcommand, *service["command"]])
    serve.validate(arguments)
    assert arguments.model_tag == "Qwen/Qwen3-0.6B"
    assert arguments.max_model_len == 1024
    assert arguments.num_gpu_blocks_override == 128
    assert arguments.gpu_memory_utilization == 0.4
    assert arguments.enable_prompt_tokens_details
    assert arguments.kv_cache_metrics
