# Every target sets up what it needs in .venv first; nothing else has to be installed. The tests of the client for browsers
# run where there is node 20 or newer (apt install nodejs, brew install node, or https://nodejs.org) and are skipped elsewhere.
PYTHON ?= python3
PY := .venv/bin/python
CORES := $(shell nproc 2>/dev/null || echo 2)
STAMP := .venv/.installed

.PHONY: help setup demo test test-long check format bench docs clean

help:  ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## make .venv with tacit and all it needs

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tacit needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@echo "Setting up .venv with all that tacit and its tests need; this takes about two minutes."
	@$(PYTHON) -m venv .venv || { $(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip --python $(PY) install --quiet pip; }
	@$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	@$(PY) -m pip install --quiet --editable ".[web,postgres,spark,plot]" --group test --group check --group docs
	@touch $@

demo: $(STAMP)  ## the main job, start to finish
	.venv/bin/tacit demo

test: $(STAMP)  ## all tests but the long statistical runs
	@command -v node >/dev/null || echo "There is no node: the tests of the client for browsers are skipped (see the head of the Makefile)."
	$(PY) -m pytest -q -m "not long" -n $(CORES) --dist worksteal

test-long: $(STAMP)  ## the long statistical runs alone
	$(PY) -m pytest -q -m long -n $(CORES) --dist worksteal

check: $(STAMP)  ## format, lint, types, layers
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

format: $(STAMP)  ## write the format and the safe fixes
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

bench: $(STAMP)  ## side by side with peers; writes bench/RESULTS.md
	$(PY) bench/noise.py
	$(PY) bench/accounting.py
	$(PY) bench/query.py
	$(PY) bench/ledger.py
	$(PY) bench/anonymity.py
	$(PY) bench/local.py

docs: $(STAMP)  ## the reference as HTML in site/
	.venv/bin/pdoc --docformat google --output-directory site tacit tacit.mechanisms tacit.guarantees tacit.noise tacit.local

clean:  ## remove what the targets made
	rm -rf .venv site .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/.env* bench/.data
