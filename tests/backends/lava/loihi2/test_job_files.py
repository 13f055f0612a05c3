"""A job is written to its folder and read back; a missing or truncated result gives a message."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.backends.lava.loihi2.job_files import ChipJob, read_job, read_result, write_job, write_result
from fsnn_lava.errors import BackendFailed
from tests.helpers.chip_networks import conv_network

CHIP = conv_network(1)
VALUES = np.random.default_rng(0).integers(0, 256, (3, *CHIP.input.shape), dtype=np.uint8)


def test_a_job_is_read_as_it_was_written(tmp_path):
    job = ChipJob(steps=7, spikes=True, board="ncl-og-01", profile=True)
    write_job(tmp_path, job, CHIP, VALUES)
    found, chip, values = read_job(tmp_path)
    assert (found, chip.digest()) == (job, CHIP.digest())
    np.testing.assert_array_equal(values, VALUES)


@pytest.mark.parametrize("spikes", [False, True])
def test_a_result_is_read_as_it_was_written(tmp_path, spikes):
    result = fl.run(CHIP, VALUES, steps=5, spikes=spikes)
    write_result(tmp_path, result)
    found = read_result(tmp_path, CHIP, 5)
    assert (found.backend, found.graph) == ("loihi2", "stock")
    for field in fields(result):
        if field.name not in ("backend", "graph"):
            np.testing.assert_equal(getattr(found, field.name), getattr(result, field.name), err_msg=field.name)


@pytest.mark.parametrize("kept", [None, 0, 100, 0.5, 0.99])
def test_a_missing_or_truncated_result_is_a_failure_of_the_job(tmp_path, kept):
    """The process on the board may be killed while it writes."""
    write_result(tmp_path, fl.run(CHIP, VALUES, steps=5))
    file = tmp_path / "result.npz"
    content = file.read_bytes()
    if kept is None:
        file.unlink()
    else:
        file.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    with pytest.raises(BackendFailed, match="the job ended without a result"):
        read_result(tmp_path, CHIP, 5)
