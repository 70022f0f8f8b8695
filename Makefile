# The whole interface: every target sets up what it needs on a machine that has only Python (3.11 to 3.14) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= auto

.PHONY: demo test test-long test-all check docs bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)  ## rendered glyphs -> real handwritten digits, every method, 3 seeds, ends in a report
	$(BIN)/transferscope demo --out demo-out

PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile
# The check of every shape and type at run time doubles the time of a test, so it is left to `test-long`, and there to
# the tests of parts: what whole analyses and commands call is checked by the tests of its own folder.
UNCHECKED := TRANSFERSCOPE_UNCHECKED=1
WHOLE := tests/analyses tests/cli tests/docs tests/e2e tests/fuzz tests/golden tests/papers

test: $(READY)  ## what takes no seconds of its own: about four minutes on two cores
	$(UNCHECKED) $(PYTEST) -m "not slow and not long"

test-long: $(READY)  ## what `test` leaves out, and the tests of parts with every shape and type checked
	$(PYTEST) -m "not slow" $(addprefix --ignore=,$(WHOLE))
	$(UNCHECKED) $(PYTEST) -m "long and not slow" $(WHOLE)

test-all: $(READY)  ## the minutes-long tests too
	$(PYTEST)

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
