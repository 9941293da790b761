# make demo   train on the data that come with the package
# make test   lint, types, import rules, tests
# make fuzz   the campaign of fuzz/README.md, for MINUTES (30)
# Both make their own .venv first. PYTHON=... chooses the interpreter (3.11 or newer).

PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11 python,\
    $(shell $(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $(name))))
BIN := .venv/bin
BENCHMARKS := bench-startup bench-reading bench-certified bench-lectures bench-step_cost bench-scaling bench-choices \
    bench-approximation bench-bias bench-report_pages

.PHONY: demo test lint types imports tests $(BENCHMARKS) bench-linear bench-kernel bench-outofcore bench-small \
    bench-dask bench-outofcore_raw fuzz clean

demo: .venv/ready
	@$(BIN)/maxmargin demo

test: lint types imports tests

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready-dev
	$(BIN)/mypy

imports: .venv/ready-dev
	$(BIN)/lint-imports

tests: .venv/ready-dev
	$(BIN)/python -m pytest -n auto --ignore tests/cluster
	$(BIN)/python -m pytest tests/cluster

$(BENCHMARKS): bench-%: .venv/ready-bench
	$(BIN)/python benchmarks/$*.py --write benchmarks/results/$*.md

bench-linear bench-kernel bench-outofcore bench-small bench-dask: bench-%: .venv/ready-bench
	$(BIN)/python benchmarks/$*/run.py --write benchmarks/results/$*.md $(if $(DATA),--data $(DATA))

bench-outofcore: bench-outofcore_raw

bench-outofcore_raw: .venv/ready-bench
	$(BIN)/python benchmarks/outofcore/raw.py --write benchmarks/results/outofcore_raw.md $(if $(DATA),--data $(DATA))

fuzz: .venv/ready-dev
	$(BIN)/python fuzz/run.py --minutes $(or $(MINUTES),30) --write benchmarks/results/fuzz.md

.venv/made:
	@test -n "$(PYTHON)" || { echo "maxmargin needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/ready: .venv/made pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/ready-dev: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv/ready-bench: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

clean:
	rm -rf .venv build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
