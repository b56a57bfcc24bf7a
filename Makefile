# Everything a newcomer needs: `make demo`, `make test`, `make ui`. Each does all the set-up it needs.
PYTHON ?= python3.11
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: install demo test test-slow ui lint format validate sample clean $(addprefix bench-,parsing embedding retrieval)

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is not installed; set PYTHON to a Python 3.11, 3.12 or 3.13"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

demo: install
	$(BIN)/finrag demo

test: install
	$(BIN)/python -m pytest

test-slow: install
	$(BIN)/python -m pytest -m "slow or not slow"

ui: install
	DAGSTER_HOME=$(CURDIR) $(BIN)/dagster dev --host 127.0.0.1 --port 3000

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

validate: install
	DAGSTER_HOME=$(CURDIR) $(BIN)/dagster definitions validate

sample: install
	$(BIN)/python data/make_sample_corpus.py

bench-%: install
	$(BIN)/python benchmarks/$*.py

clean:
	rm -rf .finrag .bench .pytest_cache .ruff_cache
