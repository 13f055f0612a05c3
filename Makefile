# Every target does its own set-up: it takes the first Python 3.10 - 3.13 found, makes .venv and installs into it, once.
export PYTHON TORCH TORCH_INDEX
python := .ci/with-python

.PHONY: help demo test test-lava test-pythons docs torture lock audit lint format clean

help:
	@echo 'make demo          set up, then the whole pipeline on the embedded digits'
	@echo 'make test          set up, then style, types and tests      (ARGS="tests/data -x" for some of them)'
	@echo 'make test-lava     set up, then only the tests that run Lava, and hw_tests on emu, sim and stock'
	@echo 'make test-pythons  the tests on every supported Python that is found, as a table (ARGS="3.11 3.13" for some of them)'
	@echo 'make docs          set up, then the documentation as a site: site/index.html'
	@echo 'make torture       set up, then damaged files, kills, full disks, poor machines, often, as a table (ARGS="--cases 50000 --kills 400")'
	@echo 'make lock          set up, then new lock files with hashes, licences and bills of materials (needs a package index)'
	@echo 'make audit         set up, then known advisories about what the locks pin (ARGS=--offline for the list kept here only)'
	@echo 'make lint          set up, then style and types only'
	@echo 'make format        rewrite the code in the project style'
	@echo 'make clean         remove the environments and caches'
	@echo 'After any of them: PYTHON=python3.12 takes that interpreter, TORCH=torch==X that torch, TORCH_INDEX=URL looks for torch there too'

demo:
	@$(python) --demo examples/demo.py $(ARGS)

test: lint
	@$(python) -m pytest $(or $(ARGS),--numprocesses logical --maxprocesses 4 --dist worksteal)
	@test -n "$(ARGS)" || for target in emu sim stock; do $(python) -m pytest hw_tests --target $$target || exit 1; done

test-lava:
	@$(python) -m pytest --numprocesses logical --maxprocesses 4 --dist worksteal tests/backends/lava tests/test_lava_compat.py tests/formats/test_netx_stock.py
	@for target in emu sim stock; do $(python) -m pytest hw_tests --target $$target || exit 1; done

test-pythons:
	@$(python) .ci/test_pythons.py $(ARGS)

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
	@$(python) -m mypy fsnn_lava

format:
	@$(python) -m ruff check --fix .
	@$(python) -m ruff format .

clean:
	rm -rf .venv .venv-* build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
