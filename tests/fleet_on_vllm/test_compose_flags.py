"""What deploy/fleet/compose.yaml passes to the router and to vLLM, by their own parsers."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import Any

from scripts.fleet.router import POLICIES, RECOVERY, ROUTER_PYTHON
from tests.deploy.compose import load, resolved

PARSE = """
import dataclasses, json, sys
from vllm_router.launch_router import parse_router_args
commands = json.loads(sys.argv[1])
print(json.dumps([dataclasses.asdict(parse_router_args(words)) for words in commands]))
"""


def parsed(*commands: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run([ROUTER_PYTHON, "-c", PARSE, json.dumps(commands)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    arguments: list[dict[str, Any]] = json.loads(done.stdout)
    return arguments


def test_the_router_takes_every_flag_of_the_stack_and_every_policy_of_ours() -> None:
    urls = "http://127.0.0.1:8000 http://127.0.0.1:8001 http://127.0.0.1:8002"
    service = load("fleet/compose.yaml")["services"]["router"]
    words = shlex.split(resolved(service["command"], {"FLEET_WORKER_URLS": urls}))
    arguments, *others = parsed(words, *(["--policy", policy] for policy in POLICIES))
    assert arguments["worker_urls"] == urls.split()
    assert arguments["policy"] in POLICIES
    assert (arguments["port"], arguments["prometheus_port"]) == (8080, 29000)
    assert " ".join(RECOVERY) in " ".join(words)
    assert [other["policy"] for other in others] == list(POLICIES)


def test_vllm_takes_every_flag_of_a_replica() -> None:
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    secret = {"KEEPWARM_CONTROL_TOKEN": "token"}
    service = resolved(load("fleet/compose.yaml")["services"]["replica-3"], secret)
    program, *subcommand = service["entrypoint"]
    assert program == "vllm"
    parser = FlexibleArgumentParser()
    serve = ServeSubcommand()
    serve.subparser_init(parser.add_subparsers())
    arguments = parser.parse_args([*subcommand, *service["command"]])
    serve.validate(arguments)
    assert (arguments.model_tag, arguments.port) == ("Qwen/Qwen3-0.6B", 8003)
    assert arguments.served_model_name == ["model"]
