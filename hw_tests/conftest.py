"""--target chooses what the cases run on; --record stores what it gave, later runs are compared with that."""

from __future__ import annotations

import pytest

from hw_tests.record import Record
from hw_tests.target import TARGETS, Target, missing


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fsnn-lava")
    group.addoption("--target", choices=TARGETS, default="emu", help="what the cases run on (default: emu)")
    group.addoption("--record", action="store_true", help="store what this run gives in hw_tests/records, instead of comparing with it")


def pytest_report_header(config: pytest.Config) -> str:
    return f"target: {config.getoption('--target')}"


@pytest.fixture(scope="session")
def record(pytestconfig: pytest.Config):
    """What this target gave before; written back at the end of a run with --record."""
    found = Record.open(pytestconfig.getoption("--target"), writing=pytestconfig.getoption("--record"))
    yield found
    found.close()


@pytest.fixture
def target(pytestconfig: pytest.Config, record: Record, request: pytest.FixtureRequest) -> Target:
    """Runs networks; every result is compared with the record under the test's name. Skips, with the reason, where it cannot run."""
    name = pytestconfig.getoption("--target")
    reason = missing(name)
    if reason:
        pytest.skip(reason)
    return Target(name, record, request.node.name)
