# Users: `make demo`, `make test`. Another Python: `make demo PYTHON=python3.12`.
# PIP_ARGS goes to every pip install, for example an index that has the CPU build of torch (README, "Install").

PYTHON ?= python3
PIP_ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_ARGS)
CHECK := PIP_ARGS="$(PIP_ARGS)" $(RUN) scripts/check.py

.PHONY: help demo test test-extras results format clean

help:
	@echo "make demo         install nomina into .venv (no torch) and link two example texts"
	@echo "make test         format, lint, types, tests with coverage, docs' code blocks, wheel install"
	@echo "make test-extras  tests of optional dependencies"
	@echo "make results      write experiments/RESULTS.md, the tables of docs/errors.md, scale.md, generation.md,"
	@echo "                  and docs/figures, out of the results of experiments and benchmarks"
	@echo "make format       format the code and apply the linter's safe fixes"
	@echo "make clean        remove .venv and what the checks left"

demo: $(VENV)/.bare
	$(VENV)/bin/nomina link --format table examples/clinical-note.txt examples/abstract.txt

test: $(VENV)/.test
	$(CHECK)

test-extras: $(VENV)/.extras
	$(CHECK) extras

results: $(VENV)/.bare
	$(RUN) experiments/make_results.py
	$(RUN) experiments/results_page.py
	$(RUN) experiments/make_errors.py
	$(RUN) experiments/draw_figures.py
	$(RUN) benchmarks/scale_plan.py
	$(RUN) benchmarks/decoding_page.py

format: $(VENV)/.test
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

clean:
	rm -rf $(VENV) .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nomina needs Python 3.11 or newer; name one with PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.bare: pyproject.toml constraints.txt | $(RUN)
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(RUN)
	$(INSTALL) --editable ".[dev,train,serve]"
	@touch $@

$(VENV)/.extras: $(VENV)/.test
	$(INSTALL) --editable ".[dev,train,serve,oracles,parquet,spacy,faiss,ray,remote]"
	@touch $@
