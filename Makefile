# The whole interface: every target sets up what it needs on a machine that has only Python (3.11 to 3.14) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BARE := $(VENV)/.bare
OPTIONAL := $(VENV)/.optional
WORKERS ?= auto

.PHONY: demo picture test test-long test-all check docs bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt -e '.[dev]'
	touch $@

# transformers, submitit and MLflow, whose tests would be left out: some 50 s and 400 MB.
$(OPTIONAL): $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,hf,slurm,mlflow]'
	touch $@

# What a user has: no tools of development, of which curvlinops brings a torchvision that may be of another torch.
$(BARE): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

demo: $(BARE)  ## rendered glyphs -> real handwritten digits, six arms, 6 seeds, ends in a report
	$(BIN)/transferscope demo --out demo-out

picture: demo  ## the picture and the ten lines of the demo that README and docs show; needs Chromium for a page
	$(BIN)/python docs/_hooks/picture.py demo-out

PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# The check of every shape and type at run time doubles the time of a test: `make test SHAPES=checked` makes it in the
# tests of parts, as CI does; what whole analyses and commands call is checked by the tests of its own folder. Figures are
# drawn in tests marked `drawn`, the blocks of the docs among them, in which every kind of figure comes.
SHAPES ?= unchecked
UNCHECKED := TRANSFERSCOPE_UNCHECKED=1
UNDRAWN := TRANSFERSCOPE_UNDRAWN=1
WHOLE := tests/analyses tests/cli tests/docs tests/e2e tests/fuzz tests/golden tests/papers
QUICK := -m "not slow and not long"
LONG := -m "long and not slow"

test: $(OPTIONAL)  ## what takes no seconds of its own
ifeq ($(SHAPES),checked)
	$(PYTEST) $(QUICK) $(addprefix --ignore=,$(WHOLE))
	$(UNCHECKED) $(UNDRAWN) $(PYTEST) $(QUICK) $(WHOLE)
else
	$(UNCHECKED) $(UNDRAWN) $(PYTEST) $(QUICK)
endif

test-long: $(OPTIONAL)  ## what `test` leaves out
	$(UNCHECKED) $(UNDRAWN) $(PYTEST) $(LONG)

test-all: $(OPTIONAL)  ## the minutes-long tests too
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
	$(BIN)/python -m pip uninstall --quiet --yes torchvision # that of curvlinops is of another torch: PEFT fails beside it
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) site build dist demo-out
