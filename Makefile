# `make demo` and `make test` do all their set-up themselves: Python 3.11 or newer, git and make are enough,
# and Node 20 for the dashboard and the tests.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

DEV := .venvs/dev
DEMO := .venvs/demo
VLLM := .venvs/vllm
BENCH := .venvs/bench
ROUTER := .venvs/router
BIN := $(DEV)/bin
TOKENIZERS := build/test-tokenizers
MODELS := build/models
PROMETHEUS := build/prometheus
CHROMIUM := build/chromium
STATIC := src/keepwarm/api/static
WEB_SOURCES := $(shell find web/app web/components web/lib web/views -type f 2>/dev/null) \
  web/package.json web/package-lock.json web/next.config.ts web/tsconfig.json web/prune.mjs
# The warnings there are vLLM's, not ours.
VLLM_TESTS := KEEPWARM_TEST_VLLM=1 KEEPWARM_TEST_MODELS=$(CURDIR)/$(MODELS) \
  $(VLLM)/bin/python -m pytest tests/vllm tests/vllm_server tests/fleet_on_vllm -W ignore
TRAFFIC := examples/helpdesk/traffic.jsonl.gz

export TRANSFORMERS_NO_ADVISORY_WARNINGS := 1
export TRANSFORMERS_VERBOSITY := error
# No test and no demo may reach for a model hub.
export HF_HUB_OFFLINE := 1
export HF_HUB_DISABLE_TELEMETRY := 1
export KEEPWARM_TEST_PROMETHEUS := $(CURDIR)/$(PROMETHEUS)/bin
export KEEPWARM_TEST_CHROMIUM := $(CURDIR)/$(CHROMIUM)/bin/chromium
export KEEPWARM_TEST_TOKENIZERS := $(CURDIR)/$(TOKENIZERS)

.PHONY: help demo web test test-web test-vllm test-full vllm-env canary fleet loop tune soak check format pytest docs generate bench cachewise fleet-figures dist clean

help:  ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(DEMO)/.stamp build/web.stamp  ## Diagnose the recorded traffic of examples/helpdesk, and simulate caches for it
	@scripts/demo.sh $(DEMO)/bin/keepwarm $(TRAFFIC) out/demo

web: build/web.stamp  ## Build the dashboard into the package

test-web: build/web.stamp $(CHROMIUM)/.stamp $(DEV)/.stamp  ## The dashboard in real Chromium, against the real API
	cd web && npm run --silent check && npm run --silent test
	cd web && KEEPWARM_TEST_PYTHON=$(CURDIR)/$(BIN)/python npm run --silent e2e

# The dashboard's tests wait for paints and are alone; the other two share the cores.
test: check vllm-env $(ROUTER)/.stamp test-web  ## Everything that guards a change: check, tests, documentation
	@scripts/side_by_side.sh test-vllm pytest

test-full: check vllm-env $(ROUTER)/.stamp  ## `test` and the long runs
	$(VLLM_TESTS) --run-long
	$(BIN)/python -m pytest --run-long

test-vllm: vllm-env $(ROUTER)/.stamp  ## The cache model and the plugin beside vLLM itself, real servers and a real router included
	$(VLLM_TESTS)

vllm-env: $(VLLM)/.stamp $(MODELS)/.stamp $(PROMETHEUS)/.stamp  ## vLLM's CPU build, 2.5 GB, two small models, Prometheus

canary: vllm-env  ## The canary on real vLLM with a small model: lru, active, rollback; some ten minutes
	@scripts/canary.sh run $(VLLM)/bin/python $(MODELS)/smollm2 out/canary

fleet: vllm-env $(ROUTER)/.stamp  ## Two vLLM servers with a small model behind vllm-router, on this machine until Ctrl-C
	$(VLLM)/bin/python -m scripts.fleet out/fleet --model $(MODELS)/smollm2

loop: vllm-env  ## The repair loop on examples/helpdesk, measured on real vLLM: some twenty minutes; result in out/loop
	$(VLLM)/bin/python -m scripts.loop out/loop --model $(MODELS)/smollm2

tune: vllm-env  ## The smallest scan limit of both rules on the same server; half an hour
	@scripts/canary.sh tune $(VLLM)/bin/python $(MODELS)/smollm2 out/canary-tuning

soak: $(VLLM)/.stamp  ## The same over 5 million requests, an hour or two; result in bench/soak.json
	$(VLLM)/bin/python -m scripts.soak

pytest: $(DEV)/.stamp $(TOKENIZERS)/.stamp $(PROMETHEUS)/.stamp build/web.stamp  ## The tests alone
	$(BIN)/python -m pytest

check: $(DEV)/.stamp  ## Lint, format, types, one-way imports, dependencies, dead code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry src
	$(BIN)/vulture

format: $(DEV)/.stamp  ## Apply the formatter and the safe lint fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(DEV)/.stamp build/web.stamp  ## Rewrite what is made from the code: docs, Grafana dashboards, web's types
	$(BIN)/python -m scripts.generate_docs
	$(BIN)/python -W ignore::DeprecationWarning -m scripts.generate_dashboards
	$(BIN)/python -m scripts.generate_api
	$(BIN)/python -m scripts.generate_causes
	cd web && npm run --silent types

docs: $(DEV)/.stamp  ## Build the documentation site into site/
	$(BIN)/python -m scripts.generate_docs --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site

bench: $(BENCH)/.stamp $(VLLM)/.stamp $(ROUTER)/.stamp $(TOKENIZERS)/.stamp $(CHROMIUM)/.stamp build/web.stamp  ## Run every bench and rewrite the table in bench/README.md
	$(BENCH)/bin/python -m bench --all --write bench/README.md

cachewise: $(BENCH)/.stamp  ## CacheWise reproduced: every run that bench/cachewise lacks, an hour or two; tables of docs/cachewise.md
	$(BENCH)/bin/python -m bench.cachewise

fleet-figures: $(BENCH)/.stamp  ## Fleets of 1 to 64 simulated servers: the runs that bench/fleet lacks, half an hour; tables of docs/fleet.md
	$(BENCH)/bin/python -m bench.fleet

dist: $(DEV)/.stamp build/web.stamp  ## Build the wheel and the source distribution into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

clean:  ## Remove what was built, the virtual environments included
	rm -rf .venvs build dist site out $(STATIC) web/out web/.next web/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(DEV)/.stamp: pyproject.toml scripts/make_venv.sh
	@scripts/make_venv.sh $(DEV) --group dev

$(DEMO)/.stamp: pyproject.toml scripts/make_venv.sh
	@scripts/make_venv.sh $(DEMO)

$(BENCH)/.stamp: pyproject.toml scripts/make_venv.sh
	@scripts/make_venv.sh $(BENCH) --group dev --group bench

$(VLLM)/.stamp: pyproject.toml scripts/make_venv.sh scripts/make_vllm_venv.sh $(wildcard tests/vllm_plugins/small_blocks/*.*)
	@scripts/make_vllm_venv.sh $(VLLM)

$(ROUTER)/.stamp: scripts/make_router_venv.sh | $(DEV)/.stamp
	@scripts/make_router_venv.sh $(ROUTER)

$(MODELS)/.stamp: scripts/make_models.py $(VLLM)/.stamp $(TOKENIZERS)/.stamp
	@$(VLLM)/bin/python scripts/make_models.py $(MODELS) $(TOKENIZERS)
	@touch $@

build/web.stamp: scripts/make_web.sh $(WEB_SOURCES)
	@scripts/make_web.sh $(STATIC)
	@mkdir -p build && touch $@

$(CHROMIUM)/.stamp: scripts/make_chromium.sh
	@scripts/make_chromium.sh $(CHROMIUM)

$(PROMETHEUS)/.stamp: scripts/make_prometheus.sh
	@scripts/make_prometheus.sh $(PROMETHEUS)

$(TOKENIZERS)/.stamp: $(DEV)/.stamp $(wildcard scripts/fetch_test_tokenizers.*)
	@scripts/run_fetch.sh $(BIN)/python $(TOKENIZERS)
