"""Choosing and opening a connection to a board: the environment is the mock vendor's, and each case runs in its own process."""

from __future__ import annotations

import pytest

from fsnn_lava.backends.availability import missing_for_backend
from tests.backends.lava.loihi2.mock import run_python

pytestmark = pytest.mark.skipif(
    bool(missing_for_backend("sim")), reason=f"Lava cannot run here; missing: {'; '.join(missing_for_backend('sim'))}"
)

SCRIPT = """
import os, sys
from fsnn_lava.errors import FsnnError
from fsnn_lava.backends.lava.loihi2.host import choose_host, open_host
try:
    host = choose_host({arguments})
    open_host(host)
    names = ("SLURM", "NOSLURM", "BOARD", "PARTITION", "LOIHI_GEN", "NXSDKHOST")
    print("host:", host, "|", {{name: os.environ.get(name) for name in names}})
except FsnnError as error:
    print(error.exit_code, error)
"""


def ask(arguments: str = "", *, commands: bool = True, **environment: str) -> str:
    """Return what choosing and opening a host prints, with the mock vendor's package and commands."""
    done = run_python("-c", SCRIPT.format(arguments=arguments), commands=commands, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_slurm_partition_is_opened():
    said = ask(PARTITION="oheogulch")
    assert "host: SLURM, partition oheogulch (N3B3)" in said
    assert "'SLURM': '1'" in said
    assert "'PARTITION': 'oheogulch', 'LOIHI_GEN': 'N3B3'" in said


def test_a_board_goes_before_its_partition_and_arguments_before_the_environment():
    said = ask("board='ncl-kp-01', generation='n3c1'", PARTITION="oheogulch", NXSDKHOST="10.0.0.1")
    assert "SLURM, board ncl-kp-01 (N3C1)" in said
    assert "'BOARD': 'ncl-kp-01'" in said


def test_an_ethernet_host_is_opened():
    said = ask(NXSDKHOST="10.0.0.1")
    assert "host: host 10.0.0.1 (N3B3)" in said
    assert "'NOSLURM': '1'" in said


def test_a_host_that_does_not_answer_is_named():
    said = ask(NXSDKHOST="10.0.0.2")
    assert said.startswith("3 backend 'loihi2': host 10.0.0.2 (N3B3) cannot be used")
    assert "check NXSDKHOST and that the board is switched on" in said


def test_a_board_that_is_down_is_named_with_those_slurm_knows():
    said = ask(BOARD="ncl-og-01", MOCK_SINFO="down")
    assert said.startswith("3 ")
    assert "board ncl-og-01 (N3B3) cannot be used: it is down; SLURM lists ncl-og-01 (oheogulch, down), ncl-kp-01 (kp, down)" in said


def test_an_unknown_partition_is_answered_with_the_known_boards():
    said = ask(PARTITION="moon")
    assert "partition moon (N3B3) cannot be used: SLURM lists ncl-og-01 (oheogulch, idle)" in said


def test_a_queue_without_controller_is_named():
    said = ask(MOCK_SINFO="broken")
    assert said.startswith("3 ")
    assert "SLURM controller is not available" in said


def test_a_machine_without_sinfo_gets_a_message():
    said = ask(commands=False)
    assert said.startswith("3 backend 'loihi2': the command 'sinfo' was not found on this machine")


def test_neither_queue_nor_host_names_the_variable():
    assert "NOSLURM is set and NXSDKHOST is not" in ask(NOSLURM="1")


@pytest.mark.parametrize(
    ("generation", "code", "words"), [("N2A2", "3", "N2A2 (LOIHI_GEN) is Loihi 1"), ("N9", "2", "must be one of N2A2, N3B2")]
)
def test_the_wrong_generation_is_refused(generation, code, words):
    said = ask(LOIHI_GEN=generation)
    assert said.startswith(code)
    assert words in said


def test_an_address_and_a_board_together_are_refused():
    assert "not both" in ask("address='10.0.0.1', board='ncl-og-01'")
