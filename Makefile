# Every target does its own set-up: it finds a Python 3.10, makes .venv and installs into it, once. PYTHON=python3.11 takes another.
export PYTHON TORCH
python := .ci/with-python

.PHONY: help demo test docs torture lock audit lint format clean

help:
	@echo 'make demo      set up, then the whole pipeline on the embedded digits'
	@echo 'make test      set up, then style, types and tests      (ARGS="tests/test_data.py -x" for some of them)'
	@echo 'make docs      set up, then the documentation as a site: site/index.html'
	@echo 'make torture   set up, then damaged files, kills, full disks, poor machines, often, as a table (ARGS="--cases 50000 --kills 400")'
	@echo 'make lock      set up, then new lock files with hashes, licences and bills of materials (needs a package index)'
	@echo 'make audit     set up, then known advisories about what the locks pin (ARGS=--offline for the list kept here only)'
	@echo 'make lint      set up, then style and types only'
	@echo 'make format    rewrite the code in the project style'
	@echo 'make clean     remove the environments and caches'
	@echo 'PYTHON=python3.11 after any of them: that interpreter, without the Lava part'

demo:
	@$(python) --any examples/demo.py $(ARGS)

test: lint
	@$(python) -m pytest $(or $(ARGS),--numprocesses logical --maxprocesses 4 --dist worksteal)
	@test -n "$(ARGS)" || for target in emu sim stock; do $(python) -m pytest hw_tests --target $$target || exit 1; done

docs: export NO_MKDOCS_2_WARNING = 1
docs:
	@$(python) -m mkdocs build --strict --quiet
	@echo 'site/index.html is the documentation: open it in a browser, no server needed.'

torture:
	@$(python) -m tests.torture $(ARGS)

lock:
	@$(python) -c 'import uv' 2>/dev/null || $(python) -m pip install -qq uv
	@$(python) deploy/locks/make.py $(ARGS)

audit:
	@$(python) deploy/locks/audit.py $(ARGS)

lint:
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@if $(python) -c 'import sys; sys.exit(sys.version_info >= (3, 11))'; then $(python) -m mypy fsnn_lava; \
	else echo 'types are checked on Python 3.10 only: those of torch and numpy differ from version to version'; fi

format:
	@$(python) -m ruff check --fix .
	@$(python) -m ruff format .

clean:
	rm -rf .venv .venv-* build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
