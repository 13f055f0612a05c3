"""A run of many batches: memory and open files stay, and no sample knows which batch it was in."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from fsnn_lava.run import run, run_batches
from tests.chip_networks import conv_network

SAMPLES, BATCH = 2400, 20
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def values(count: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, *shape), np.uint8)


def test_120_batches_on_the_emulator_leak_nothing_and_do_not_mix():
    chip = conv_network(1, decay=80)
    samples = values(SAMPLES, chip.input.shape)
    readouts, memory, files = [], [], []
    for result in run_batches(chip, (samples[i : i + BATCH] for i in range(0, SAMPLES, BATCH)), batch=BATCH, steps=8):
        readouts.append(result.readout)
        memory.append(resident())
        files.append(open_files())
    assert len(readouts) == SAMPLES // BATCH
    # a leak of one batch's smallest layer potentials (4 bytes a neuron) each time would be BATCH * 4 * neurons * 100 batches;
    # what the loop keeps on purpose are the readouts: far below the 8 MiB that the allocator may hold back
    assert memory[-1] - memory[19] < 2**23
    assert files[-1] == files[0]
    order = np.random.default_rng(1).permutation(SAMPLES)
    shuffled = run(chip, samples[order], steps=8, batch=77)
    np.testing.assert_array_equal(shuffled.readout, np.concatenate(readouts)[order])


def test_20_batches_on_the_simulator_leave_no_file_open_and_equal_the_emulator():
    pytest.importorskip("lava")
    chip = conv_network(1)
    samples = values(80, chip.input.shape)
    before, readouts, files = open_files(), [], []
    for result in run_batches(chip, (samples[i : i + 4] for i in range(0, 80, 4)), backend="sim", batch=4, steps=6):
        readouts.append(result.readout)
        files.append(open_files())
    assert files[-1] == files[0]
    assert open_files() <= before + 2  # Python's own resource tracker stays
    np.testing.assert_array_equal(np.concatenate(readouts), run(chip, samples, steps=6, batch=80).readout)
