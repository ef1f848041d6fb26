# One Makefile for people and for continuous integration; `make help` lists what it can do.
# Everything is installed into .venv, from lock files with hashes. Stamp files in .venv remember
# what has been installed, so a second run starts at once.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# More arguments for the tools, e.g. `make test PYTEST_ARGS="-k beam"`, `make lock LOCK_ARGS=--upgrade`.
PYTEST_ARGS ?=
BENCH_ARGS  ?=
LOCK_ARGS   ?=
UV_VERSION  := 0.13.7

# Some machines forbid Python to keep what it compiled; then every process compiles every module that it
# imports again, which takes longer than most tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-rest coverage test-slow test-kernels snapshots lint format docs bench dist \
	lock clean
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.run ## install what is needed, then plan the diabetes example: plan.json, report.html
	$(BIN)/preceptor plan

# A process for each core. Files stay whole, since their tests share what is dear to make, but for the
# pages of the documentation; the longest come first (tests/conftest.py).
PARALLEL := --numprocesses logical --dist loadfile --no-loadscope-reorder
# Threads of linear algebra that wait for each other would only take turns with other tests.
test test-rest coverage test-slow snapshots: export OPENBLAS_NUM_THREADS := 1

test: lint ## check style and types, then run the fast tests (pyproject.toml says which)
	$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

test-all: test ## the same, then browsers, servers, Postgres, Dask, documentation pages, statistics
	$(MAKE) test-rest

test-rest: $(VENV)/.dev # what `make test` leaves out
	$(BIN)/python -m pytest $(PARALLEL) -m "full and not smoke and not slow" $(PYTEST_ARGS)

# Tracing every line makes the tests a third slower, so it is asked for by itself.
coverage: $(VENV)/.dev ## run the fast tests and say which lines they never reach
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=term $(PYTEST_ARGS)

test-slow: $(VENV)/.dev ## run the slow tests, and property tests with more and fresh examples
	$(BIN)/python -m pytest $(PARALLEL) -m "slow or dice" --hypothesis-profile=thorough $(PYTEST_ARGS)

test-kernels: $(VENV)/.dev ## run the kernels as plain Python on tiny instances, with their coverage
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels --cov --cov-config=tests/kernels/coveragerc \
		--cov-report=term $(PYTEST_ARGS)

# In one process: tests share the files. What no test prints any more goes.
snapshots: $(VENV)/.dev ## keep what commands print now (tests/cli/snapshots), after a change that is meant
	rm -f tests/*/snapshots/*.txt
	$(BIN)/python -m pytest --quiet -m "not slow" --update-snapshots $(PYTEST_ARGS)

lint: $(VENV)/.dev ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.dev ## fix style where that can be done automatically
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.dev ## build the documentation into site/, readable without a network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.bench ## measure speed and quality against other packages
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

# The backend is called by itself: it comes with the locked requirements, so nothing is fetched.
dist: $(VENV)/.run ## build the wheel and the source archive into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist

# Each lock keeps to the versions of the one before it, so that they can share one environment.
# Pins already in the files are kept where they still fit; LOCK_ARGS=--upgrade moves them.
COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --group build $(LOCK_ARGS)

lock: $(VENV)/.python ## lock the requirements again after a change of pyproject.toml
	$(BIN)/python -m pip install -qq uv==$(UV_VERSION)
	$(COMPILE) --extra cli --extra serve --output-file requirements/run.lock
	$(COMPILE) --extra dev --extra docs --constraint requirements/run.lock \
		--output-file requirements/dev.lock
	$(COMPILE) --extra dev --extra docs --extra bench --constraint requirements/dev.lock \
		--output-file requirements/bench.lock

clean: ## remove the environment, what was built and what `make run` wrote
	rm -rf $(VENV) build dist site htmlcov .coverage .mypy_cache .pytest_cache .ruff_cache \
		.hypothesis plan.json report.html
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# --- environments: run is contained in dev, and dev in bench ---------------------------------------

# Without --no-compile every module of every package is compiled, a quarter of a minute, though most
# are never imported; Python compiles those that are. Lock files name everything that is needed, so pip
# need not look for dependencies: it would take new versions of extras for requirements without a pin.
define install
	@echo "Installing requirements/$(1).lock into $(VENV) (a minute or two the first time) ..."
	@$(BIN)/python -m pip install -qq --no-compile --no-deps --require-hashes --requirement requirements/$(1).lock
	@$(BIN)/python -m pip install -qq --no-deps --no-build-isolation --editable .
endef

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Preceptor needs Python 3.11 or newer, but PYTHON=$(PYTHON) is" \
			"$$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12" >&2; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: requirements/run.lock pyproject.toml | $(VENV)/.python
	$(call install,run)
	@touch $@

$(VENV)/.dev: requirements/dev.lock pyproject.toml | $(VENV)/.python
	$(call install,dev)
	@touch $(VENV)/.run $@

$(VENV)/.bench: requirements/bench.lock pyproject.toml | $(VENV)/.python
	$(call install,bench)
	@touch $(VENV)/.run $(VENV)/.dev $@
