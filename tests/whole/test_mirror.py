"""The tests mirror the library: tests/x/test_y.py tests fsnn_lava/x/y.py."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "fsnn_lava"
ELSEWHERE = {"whole", "torture"}  # these folders span the library
EXCEPTIONS = {  # and why
    "formats/test_netx_stock.py": "netx.py once more, with stock Lava and lava-dl, which test_netx.py does without",
    "backends/lava/loihi2/test_bundle_round_trip.py": "a job from packaging to verdict; beside the mock board that it runs on",
}


def mirrored() -> set[str]:
    files = (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    return {path.as_posix() for path in files if path.parts[0] not in ELSEWHERE}


def module_of(test: str) -> Path:
    path = PACKAGE / test
    return path.with_name(path.name.removeprefix("test_"))


def test_every_test_file_has_the_module_that_it_tests():
    assert {test for test in mirrored() if not module_of(test).is_file()} == set(EXCEPTIONS)
