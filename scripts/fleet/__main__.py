"""``python -m scripts.fleet OUT --model DIR``: until Ctrl-C; ``--drill``: what a killed replica costs."""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import sys
import threading
from pathlib import Path

from keepwarm._errors import KeepwarmError
from keepwarm.canary.servers.local import LocalOptions, cpu_options
from scripts.fleet.drill import run_drill
from scripts.fleet.local import CACHEWISE, MODEL, Fleet
from scripts.fleet.router import POLICIES


def main() -> int:
    """0; 1 if the drill found that the router does not come back, 2 if the fleet cannot be started."""
    arguments = _arguments()
    token = secrets.token_hex(32)
    try:
        with Fleet(_options(arguments), CACHEWISE, arguments.replicas, arguments.out, token=token) as fleet:
            fleet.route(arguments.policy)
            if arguments.drill:
                loss = run_drill(fleet)
                print(f"keepwarm: {loss.line()}", file=sys.stderr)
                print(json.dumps(loss.document(), indent=2))
                return 0 if loss.served_again else 1
            _write_token(arguments.out / "token", token)
            _announce(fleet, arguments.out)
            _wait_for_the_end()
    except KeyboardInterrupt:  # while it starts
        return 130
    except (KeepwarmError, TimeoutError, OSError) as error:
        print(f"keepwarm: {error}", file=sys.stderr)
        return 2
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.fleet", description=__doc__)
    parser.add_argument("out", type=Path, help="folder for logs and the token")
    parser.add_argument("--model", type=Path, required=True, help="folder of the model")
    parser.add_argument("--replicas", type=int, default=2, choices=range(2, 9), metavar="N")
    parser.add_argument("--policy", default="sticky_least_loaded", choices=POLICIES)
    parser.add_argument("--drill", action="store_true", help="kill a replica under load, and report")
    return parser.parse_args()


def _options(arguments: argparse.Namespace) -> LocalOptions:
    dummy = () if list(arguments.model.glob("*.safetensors")) else ("--load-format", "dummy")
    return cpu_options(str(arguments.model), pool_blocks=1024, max_model_len_tokens=4096, arguments=dummy)


def _write_token(path: Path, token: str) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(token)


def _announce(fleet: Fleet, out: Path) -> None:
    print(f"router    {fleet.router.base_url}/v1, model {MODEL!r}; send X-Session-ID with every request")
    print(f"metrics   {fleet.router.metrics_url}")
    for replica, control_url in zip(fleet.replicas, fleet.control_urls, strict=True):
        print(f"replica   {replica.base_url}, hints at {control_url}, process {replica.pid}")
    print(f"hints     --hints-to {','.join(fleet.control_urls)}, token in {str(out / 'token')!r}")
    print("Ctrl-C ends all of it.", flush=True)


def _wait_for_the_end() -> None:
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()


if __name__ == "__main__":
    sys.exit(main())
