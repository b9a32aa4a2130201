"""These tests need vLLM itself, in an environment of its own: `make test-vllm` runs them there.

It sets the variable; elsewhere they are not collected. Where they are, a missing vLLM is an error.
"""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("KEEPWARM_TEST_VLLM") else ["test_*.py"]
