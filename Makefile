# The commands of the README. Each makes what it needs, from a clean clone with plain python3 (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test slow check format lint types layers portable portable-all matrix audit fuzz kills load readme bench docs dist coverage clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"genesieve needs Python 3.11 or newer, got {v.major}.{v.minor}: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/genesieve demo

test: setup
	$(BIN)/pytest -n auto --dist loadfile -m 'not slow'

slow: setup  # tests that take more than ten seconds each: benchmark suites end to end, clusters whose workers die
	$(BIN)/pytest -n auto -m slow

check: format lint types layers test

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

portable: setup  # the laws of the core again, as on two other processors
	$(BIN)/python tests/portable.py --quick

portable-all: setup  # nightly: all numerical tests, as on every processor that this one can play
	$(BIN)/python tests/portable.py

# For example make matrix ENVIRONMENTS="3.13 lowest"; without, on all that are here.
matrix: setup
	$(BIN)/python tests/matrix.py $(ENVIRONMENTS)

audit: setup  # no known weakness in what is needed; asks no network
	$(BIN)/python tests/audit.py

# Long: random fits, texts, records, command lines and damaged files, for example make fuzz CASES=100000 SEED=1000000
# LOG=fuzz.jsonl; then $(BIN)/python -m tests.fuzz.figures fuzz.jsonl writes what was found into docs/reliability.md.
CASES ?= 4000
SEED ?= 0
fuzz: setup
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --cases $(CASES) --seed $(SEED) $(if $(LOG),--log $(LOG))

KILLS ?= 200
kills: setup  # runs that are killed at random moments
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.kills --kills $(KILLS) --seed $(SEED) $(if $(LOG),--log $(LOG))

load: setup  # many runs, threads and processes at a time
	GENESIEVE_LOAD=full $(BIN)/pytest -q tests/test_load.py

readme: setup  # writes what the demo prints into README.md, and the pictures there and in docs/report.md
	$(BIN)/python tests/readme.py

docs: setup  # into docs/_build/html; notebooks run where they or genesieve changed
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

dist: setup  # sdist and wheel into dist; the wheel is installed elsewhere and tried
	$(BIN)/python tests/dist.py

coverage: setup  # lines of src that the tests run
	$(BIN)/pytest -q -n auto --dist loadfile --cov --cov-report=term-missing:skip-covered

bench: setup
	$(BIN)/python -m benchmarks.speed

clean:
	rm -rf .venv .venvs .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build docs/generated dist
