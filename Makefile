# Every target sets up what it needs in .venv first; nothing else has to be installed. Tests run on PostgreSQL, which comes
# with pip, and on Spark, for which `make test` installs a Java where there is none. The tests of the client for browsers
# run where there is node 20 or newer (apt install nodejs, brew install node, or https://nodejs.org) and are skipped elsewhere.
PYTHON ?= python3
PY := .venv/bin/python
CORES := $(shell nproc 2>/dev/null || echo 2)
STAMP := .venv/.installed
LOWEST := .venv-lowest
EXTRAS := web,postgres,spark,plot

.PHONY: help setup java demo test test-long test-lowest check format bench docs clean

help:  ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## make .venv with tacit and all it needs

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tacit needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@echo "Setting up .venv with all that tacit and its tests need; this takes about two minutes."
	@$(PYTHON) -m venv .venv || { $(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip --python $(PY) install --quiet pip; }
	@$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	@$(PY) -m pip install --quiet --editable ".[$(EXTRAS)]" --group test --group check --group docs
	@touch $@

java:  # Spark 4 needs Java 17 or newer; on Debian and its kin it comes from the system's packages
	@java -version 2>&1 | grep -Eq '"(1[7-9]|[2-9][0-9])' || { \
	  echo "There is no Java 17 or newer, which the tests on Spark need; installing openjdk-17-jre-headless."; \
	  SUDO=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  command -v apt-get >/dev/null && $$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null && java -version 2>/dev/null; } || { \
	  echo "Java could not be installed here. Install a Java runtime, 17 or newer (https://adoptium.net), so that \`java\` is found, and try again."; exit 2; }

demo: $(STAMP)  ## the main job, start to finish
	.venv/bin/tacit demo

test: $(STAMP) java  ## all tests but the long statistical runs
	@command -v node >/dev/null || echo "There is no node: the tests of the client for browsers are skipped (see the head of the Makefile)."
	$(PY) -m pytest -q -m "not long" -n $(CORES) --dist worksteal

test-long: $(STAMP) java  ## the long statistical runs alone
	$(PY) -m pytest -q -m long -n $(CORES) --dist worksteal

# PySpark below 4.2 leaves sockets open, of which Python warns when it collects them
test-lowest: $(LOWEST)/.installed java  ## all tests but the long ones, with the oldest packages that pyproject.toml admits
	$(LOWEST)/bin/python -m pytest -q -m "not long" -n $(CORES) --dist worksteal -W ignore::pytest.PytestUnraisableExceptionWarning

# uv resolves our own dependencies to the oldest versions, and what they need to the newest. pyspark has no wheel.
$(LOWEST)/.installed: pyproject.toml
	@echo "Setting up $(LOWEST) with the oldest packages that pyproject.toml admits; this takes about three minutes."
	@$(PYTHON) -m venv --clear $(LOWEST) || { $(PYTHON) -m venv --clear --without-pip $(LOWEST) && $(PYTHON) -m pip --python $(LOWEST)/bin/python install --quiet pip; }
	@$(LOWEST)/bin/python -m pip install --quiet --upgrade "pip>=25.1" uv
	@$(LOWEST)/bin/uv pip compile --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --only-binary :all: \
	  --no-binary pyspark --all-extras pyproject.toml --output-file $(LOWEST)/versions.txt
	@$(LOWEST)/bin/python -m pip install --quiet --editable ".[$(EXTRAS)]" --group test --constraint $(LOWEST)/versions.txt
	@touch $@

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
	$(PY) bench/engines.py
	$(PY) bench/row_work.py

docs: $(STAMP)  ## the reference as HTML in site/
	.venv/bin/pdoc --docformat google --output-directory site tacit tacit.mechanisms tacit.guarantees tacit.noise tacit.local

clean:  ## remove what the targets made
	rm -rf .venv $(LOWEST) site .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/.env* bench/.data
