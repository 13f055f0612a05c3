"""--target chooses the backend; --record stores its results, with which later runs are compared."""

from __future__ import annotations

import pytest

from hw_tests.record import Record
from hw_tests.target import TARGETS, Target, missing


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fsnn-lava")
    group.addoption("--target", choices=TARGETS, default="emu", help="the backend to run the cases on (default: emu)")
    group.addoption("--record", action="store_true", help="store the results of this run in hw_tests/records instead of comparing them")


def pytest_report_header(config: pytest.Config) -> str:
    return f"target: {config.getoption('--target')}"


@pytest.fixture(scope="session")
def record(pytestconfig: pytest.Config):
    """The stored results of this target; with --record, they are written at the end of the run."""
    found = Record.open(pytestconfig.getoption("--target"), writing=pytestconfig.getoption("--record"))
    yield found
    found.close()


@pytest.fixture
def target(pytestconfig: pytest.Config, record: Record, request: pytest.FixtureRequest) -> Target:
    """Run networks and compare every result with the record under the test's name; skip, with the reason, if the target cannot run."""
    name = pytestconfig.getoption("--target")
    reason = missing(name)
    if reason:
        pytest.skip(reason)
    return Target(name, record, request.node.name)
