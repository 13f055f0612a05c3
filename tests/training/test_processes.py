"""Which process of a job this is, and its share of the samples."""

from __future__ import annotations

import os

import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.training.process_group import ProcessGroup
from fsnn_lava.training.processes import Processes


def test_shares_are_the_joint_batch_cut_in_order():
    parts = [list(range(31))[ProcessGroup(Processes(rank, 4)).share(31)] for rank in range(4)]
    assert [sample for part in parts for sample in part] == list(range(31))
    assert [len(part) for part in parts] == [7, 8, 8, 8]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Processes(0, 1, "run")),
        ({"RANK": "2", "WORLD_SIZE": "3", "MASTER_PORT": "29"}, Processes(2, 3, "29")),
        (
            {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "a-7", "SLURM_RESTART_COUNT": "1"},
            Processes(1, 2, "a_7", True),
        ),
        ({"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "9"}, Processes(1, 2, "run")),
    ],
)
def test_the_launcher_says_which_process_this_is(environment, expected, launcher):
    launcher(environment)
    assert Processes.from_environment() == expected


@pytest.mark.parametrize("environment", [{"RANK": "3", "WORLD_SIZE": "3"}, {"RANK": "x", "WORLD_SIZE": "3"}, {"SLURM_PROCID": "1"}])
def test_a_rank_that_makes_no_sense_is_refused(environment, launcher):
    launcher(environment)
    with pytest.raises(BadArgument, match="must give this process a rank below the number of processes"):
        Processes.from_environment()


@pytest.fixture
def launcher(monkeypatch):
    """Set the environment that a launcher would set, without anything from the real one."""

    def set_environment(values: dict[str, str]) -> None:
        for name in list(os.environ):
            if name.startswith(("SLURM_", "TORCHELASTIC_", "MASTER_")) or name in ("RANK", "WORLD_SIZE"):
                monkeypatch.delenv(name)
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return set_environment
