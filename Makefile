# Every target does its own set-up: it uses the first Python 3.10 - 3.13 it finds, and installs into .venv once.
export PYTHON TORCH TORCH_INDEX
python := .ci/with-python
parallel := --numprocesses logical --maxprocesses 4 --dist worksteal

.PHONY: help demo test test-lava test-pythons coverage wheel docs torture lock audit lint format clean

help:
	@echo 'make demo          run the whole pipeline on the built-in digits data set'
	@echo 'make test          check style, types and import order, and run the tests (ARGS="tests/data/test_cifar.py -x" to select some)'
	@echo 'make test-lava     run only the tests that use Lava, and hw_tests on emu, sim and stock'
	@echo 'make test-pythons  run the tests on every supported Python found, and print a table (ARGS="3.11 3.13" to select some)'
	@echo 'make coverage      run the tests and list the lines of fsnn_lava that they do not cover'
	@echo 'make lint          check style, types and import order only'
	@echo 'make format        reformat the code'
	@echo 'make docs          build the documentation as a website: site/index.html'
	@echo 'make wheel         build the wheel, install it in an empty environment and try it there'
	@echo 'make torture       test with damaged files, kills, full disks and scarce resources, and print a table (ARGS="--cases 50000 --kills 400")'
	@echo 'make lock          write new lock files with hashes, licences and bills of materials (needs a package index)'
	@echo 'make audit         list known advisories for the locked packages (ARGS=--offline to use only those listed in the repository)'
	@echo 'make clean         remove environments and caches'
	@echo 'Each target first sets up .venv if needed. Options: PYTHON=python3.12 chooses the interpreter, TORCH=torch==X the version of torch,'
	@echo 'and TORCH_INDEX=URL adds a package index to search for torch.'

demo:
	@$(python) --demo examples/demo.py $(ARGS)

test: lint
	@$(python) -m pytest $(or $(ARGS),$(parallel))
	@test -n "$(ARGS)" || for target in emu sim stock; do $(python) -m pytest hw_tests --target $$target || exit 1; done

test-lava:
	@$(python) -m pytest $(parallel) tests/backends/lava tests/test_lava_compat.py tests/formats/test_netx_stock.py
	@for target in emu sim stock; do $(python) -m pytest hw_tests --target $$target || exit 1; done

test-pythons:
	@$(python) .ci/test_pythons.py $(ARGS)

# Not part of make test, because tracing every line makes the tests about 40 % slower.
coverage:
	@$(python) -m pytest --cov=fsnn_lava --cov-report=term:skip-covered $(or $(ARGS),$(parallel))

wheel:
	@$(python) .ci/check_wheel.py

docs: export NO_MKDOCS_2_WARNING = 1
docs:
	@$(python) -m mkdocs build --strict --quiet
	@echo 'Open site/index.html in a browser; no server is needed.'

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
	@$(python) .ci/check_imports.py

format:
	@$(python) -m ruff check --fix .
	@$(python) -m ruff format .

clean:
	rm -rf .venv .venv-* build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
