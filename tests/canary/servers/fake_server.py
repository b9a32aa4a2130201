"""Stands in for vLLM's API server, with a child as its engine. FAKE_SERVER says how it behaves.

It prints one line of JSON first: its arguments, its COMPUTECACHE_* settings, its process id and the engine's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ENGINE = "import signal, sys, time; {ignore}; print('ready', flush=True); time.sleep(600)"
IGNORE = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


class Health(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    behaviour = os.environ.get("FAKE_SERVER", "")
    stubborn = behaviour == "stubborn"
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE.format(ignore=IGNORE if stubborn else "pass")], stdout=subprocess.PIPE
    )
    assert engine.stdout is not None
    assert engine.stdout.readline() == b"ready\n"
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: (engine.terminate(), engine.wait(), os._exit(0)))
    settings = {name: value for name, value in os.environ.items() if name.startswith("COMPUTECACHE_")}
    pids = {"pid": os.getpid(), "engine": engine.pid}
    say(json.dumps({"argv": sys.argv[1:], "settings": settings, **pids}))
    say(f"api key {os.environ.get('VLLM_API_KEY')}")
    if behaviour == "dies":
        say("no memory left")
        os._exit(3)  # the engine stays behind
    if behaviour == "mute":
        signal.pause()
    port = sys.argv[len(sys.argv) - sys.argv[::-1].index("--port")]  # the last one counts, as in argparse
    ThreadingHTTPServer(("127.0.0.1", int(port)), Health).serve_forever()


if __name__ == "__main__":
    main()
