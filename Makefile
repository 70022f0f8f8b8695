# The whole interface: every target sets up what it needs on a machine that has only Python (3.11 to 3.14) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= auto

.PHONY: demo test test-all check docs bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)  ## rendered glyphs -> real handwritten digits, every method, 3 seeds, ends in a report
	$(BIN)/transferscope demo --out demo-out

# Tests of whole analyses and commands run without the check of every shape and type, which doubles their time: what
# they call is checked by the tests of its own folder.
WHOLE := tests/analyses tests/cli tests/docs tests/e2e tests/fuzz tests/golden tests/papers

test: $(READY)  ## everything but the minutes-long tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(addprefix --ignore=,$(WHOLE))
	OMP_NUM_THREADS=1 TRANSFERSCOPE_UNCHECKED=1 $(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(WHOLE)

test-all: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS)

check: $(READY)  ## formatter, linter, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	$(BIN)/mkdocs build --strict

bench: $(READY)  ## speed and memory beside a rival, in the same run
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) site build dist demo-out
