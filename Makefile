# Every target first installs its dependencies into .venv. Tests run on PostgreSQL, which pip installs, and on Spark, for
# which `make test` installs Java if it is missing. The tests of the browser client need node 20 or newer (apt install
# nodejs, brew install node, or https://nodejs.org); without node they are skipped. npm installs TypeScript for one of them.
PYTHON ?= python3
PY := .venv/bin/python
CORES := $(shell nproc 2>/dev/null || echo 2)
STAMP := .venv/.installed
LOWEST := .venv-lowest
FUZZ := .venv-fuzz
SECONDS ?= 600
EXTRAS := web,postgres,spark,plot
export PYTHONDONTWRITEBYTECODE :=  # the tests start hundreds of processes, which would compile tacit each time
TSC := .venv/typescript/node_modules/typescript/bin/tsc
NPM_INSTALL := npm install --silent --no-audit --no-fund --fetch-retries=1 --fetch-timeout=20000

.PHONY: help setup java chromium pictures demo test test-long test-lowest test-packages test-release mutants check format bench docs notebooks attack-peers fuzz audit audit-power clean

help:  ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## install tacit and its dependencies into .venv

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tacit needs Python 3.11 or newer. Name it with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@echo "Installing tacit and its test dependencies into .venv; this takes about two minutes."
	@$(PYTHON) -m venv .venv || { $(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip --python $(PY) install --quiet pip; }
	@$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	@$(PY) -m pip install --quiet --editable ".[$(EXTRAS)]" --group test --group check --group docs --group packages
	@touch $@

java:  # Spark 4 needs Java 17 or newer; on Debian and Ubuntu it comes from the system's packages
	@java -version 2>&1 | grep -Eq '"(1[7-9]|[2-9][0-9])' || { \
	  echo "The tests on Spark need Java 17 or newer, which is missing. Installing openjdk-17-jre-headless."; \
	  SUDO=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  command -v apt-get >/dev/null && $$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null && java -version 2>/dev/null; } || { \
	  echo "Cannot install Java. Install a Java runtime, 17 or newer (https://adoptium.net), put \`java\` on the path, and try again."; exit 2; }

# TypeScript compiles the types of the browser client in one test, which is skipped without it
$(TSC): $(STAMP)
	@command -v npm >/dev/null && $(NPM_INSTALL) --prefix .venv/typescript typescript@5.9 >/dev/null 2>&1 && touch $@ || \
	  echo "TypeScript is missing and npm cannot install it, so the test of the client's types is skipped."

chromium:  # the browser of tests/browser; without one these tests are skipped
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  echo "The tests of the pages need Chromium, which is missing. Installing chromium."; \
	  SUDO=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  command -v apt-get >/dev/null && $$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "Cannot install Chromium, so the tests of the pages are skipped. Put \`chromium\` or \`google-chrome\` on the path to run them."

pictures: $(STAMP) chromium  ## take the pictures of docs/how-to/use-the-workbench.md
	TACIT_TEST_PICTURES=1 $(PY) -m pytest -q tests/browser

demo: $(STAMP)  ## run a private query on a made-up survey
	.venv/bin/tacit demo

test: $(STAMP) java chromium $(TSC)  ## run all tests except the long statistical ones
	@command -v node >/dev/null || echo "node is missing, so the tests of the browser client are skipped (see the top of the Makefile)."
	$(PY) -m pytest -q -m "not long" -n $(CORES) --dist worksteal

test-long: $(STAMP) java  ## run the long tests, and ten times as many examples on every engine
	$(PY) -m pytest -q -o faulthandler_timeout=3600 -m long -n $(CORES) --dist worksteal
	TACIT_TEST_EXAMPLES=10 $(PY) -m pytest -q -o faulthandler_timeout=3600 -m "not long" -n $(CORES) --dist worksteal tests/contract

# PySpark below 4.2 leaves sockets open, and Python warns when it collects them
test-lowest: $(LOWEST)/.installed java  ## run the tests with the oldest packages that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest -q -m "not long" -n $(CORES) --dist worksteal -W ignore::pytest.PytestUnraisableExceptionWarning

# uv resolves our direct dependencies to the oldest versions, and all others to the newest. pyspark has no wheel.
$(LOWEST)/.installed: pyproject.toml
	@echo "Installing the oldest packages that pyproject.toml allows into $(LOWEST); this takes about three minutes."
	@$(PYTHON) -m venv --clear $(LOWEST) || { $(PYTHON) -m venv --clear --without-pip $(LOWEST) && $(PYTHON) -m pip --python $(LOWEST)/bin/python install --quiet pip; }
	@$(LOWEST)/bin/python -m pip install --quiet --upgrade "pip>=25.1" uv
	@$(LOWEST)/bin/uv pip compile --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --only-binary :all: \
	  --no-binary pyspark --all-extras pyproject.toml --output-file $(LOWEST)/versions.txt
	@$(LOWEST)/bin/python -m pip install --quiet --editable ".[$(EXTRAS)]" --group test --constraint $(LOWEST)/versions.txt
	@touch $@

# uv installs every environment from its cache, so that only the first one waits for downloads
test-packages: $(STAMP) java  ## build the wheel; install and use it with each extra alone, on Python 3.11 to 3.14
	$(PY) tools/package_check.py $(VERSIONS)

test-release: $(STAMP) java chromium  ## run all tests on the built wheel, on Python 3.11 to 3.14
	$(PY) tools/release_check.py $(VERSIONS)

mutants: $(STAMP) java  ## plant the faults of tests/mutants one by one; each must be caught
	$(PY) tools/plant_faults.py

fuzz: $(FUZZ)/.installed  ## fuzz every target for SECONDS (600) each; findings are in .venv-fuzz/found
	status=0; for target in sql policy report event web; do \
	  $(FUZZ)/bin/python tests/fuzz/run.py $$target --seconds $(SECONDS) --found $(FUZZ)/found/$$target || status=1; done; \
	  exit $$status

$(FUZZ)/.installed: pyproject.toml
	@$(PYTHON) -m venv $(FUZZ) || { $(PYTHON) -m venv --clear --without-pip $(FUZZ) && $(PYTHON) -m pip --python $(FUZZ)/bin/python install --quiet pip; }
	@$(FUZZ)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(FUZZ)/bin/python -m pip install --quiet --editable ".[$(EXTRAS)]" --group test --group fuzz
	@touch $@

audit: $(STAMP) java  ## audit every release path, with more runs than `make test`, and print each bound beside its claim
	$(PY) -m pytest -v -o faulthandler_timeout=3600 -n $(CORES) --dist worksteal tests/auditing/test_paths_*.py

audit-power: $(STAMP) java  ## plant the faults that break a guarantee; an audit, or else a named test, must catch each
	$(PY) tools/plant_faults.py --privacy

check: $(STAMP)  ## check format, lint, types, import layers and prose
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) tools/prose_check.py

format: $(STAMP)  ## format the code and apply safe fixes
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

bench: $(STAMP)  ## compare with other libraries; write bench/RESULTS.md
	$(PY) bench/noise.py
	$(PY) bench/accounting.py
	$(PY) bench/query.py
	$(PY) bench/query_single.py
	$(PY) bench/ledger.py
	$(PY) bench/anonymity.py
	$(PY) bench/local.py
	$(PY) bench/local_browser.py
	$(PY) bench/engines.py
	$(PY) bench/engines.py --median
	$(PY) bench/spark_cost.py
	$(PY) bench/row_work.py
	$(PY) bench/limits.py
	$(PY) bench/high_dimensional_rows.py
	$(PY) bench/high_dimensional_itemsets.py
	$(PY) bench/operations.py
	$(PY) bench/high_dimensional_classify.py
	$(PY) bench/shell.py
	$(PY) bench/high_dimensional_marginals.py
	$(PY) bench/workbench_load.py

attack-peers: $(STAMP)  ## attack other libraries and tacit in the same way; write a section of bench/RESULTS.md
	$(PY) bench/attacks.py

docs: notebooks  ## build the documentation site in site/ and check its links
	$(PY) tools/build_docs.py

notebooks: $(STAMP)  ## write the tutorials as notebooks to site/notebooks/
	$(PY) tools/make_notebooks.py

clean:  ## remove all files that the targets created
	rm -rf .venv $(LOWEST) $(FUZZ) site build .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/.env* bench/.data
