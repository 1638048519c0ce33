# make demo: run the shipped kernels.  make test: lint, type check and test.  Both set up .venv by themselves.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := $(shell find src -name '*.py')

.PHONY: help demo test docs dist bench vscode lint format clean

help:
	@echo 'make demo    set up $(VENV), run the example kernels, show a diagnostic'
	@echo 'make test    set up $(VENV) for development, lint, type check, test'
	@echo 'make docs    build the documentation in build/docs; warnings are errors'
	@echo 'make dist    build wheel and source distribution of the last commit in dist'
	@echo 'make bench   how fast kernels run, beside plain NumPy, and what is asked of them'
	@echo 'make vscode  build the extension for Visual Studio Code (needs npm)'
	@echo 'make lint    the checks of "make test" without the tests'
	@echo 'make format  reformat the sources'
	@echo 'make clean   remove $(VENV) and caches'

demo: $(VENV)/ready-to-run
	@sh examples/demo.sh $(BIN)/ptokit

test: lint
	$(BIN)/python -m pytest -n 2

docs: $(VENV)/ready-to-develop
	$(BIN)/ptokit docs --out build/docs

# From a clone: what is not committed stays out.
dist: $(VENV)/ready-to-develop
	rm -rf build/clone dist
	git clone --quiet --depth 1 "file://$(CURDIR)" build/clone
	$(BIN)/python -m build --outdir dist build/clone
	$(BIN)/python -m twine check --strict dist/*
	@ls -l dist

bench: $(VENV)/ready-to-develop
	@$(BIN)/python benchmarks/table.py

vscode:
	cp LICENSE editors/vscode/LICENSE.txt
	cd editors/vscode && npm install --no-audit --no-fund && npm run package

lint: $(VENV)/ready-to-develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/ready-to-develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'ptokit needs Python 3.11 or later; name one with: make PYTHON=python3.12 ...' >&2; exit 1; }
	@echo 'creating $(VENV)'
	@$(PYTHON) -m venv $(VENV)

# An editable installation, where there is one, serves the demo as well.
$(VENV)/ready-to-run: pyproject.toml $(SOURCES) | $(BIN)/python
	@test -f $(VENV)/ready-to-develop || { echo 'installing ptokit in $(VENV)'; $(PIP) install .; }
	@touch $@

$(VENV)/ready-to-develop: pyproject.toml | $(BIN)/python
	@echo 'installing ptokit and its development tools in $(VENV)'
	@$(PIP) install --editable '.[dev]'
	@touch $@
