"""Delta encoding on the mock board: every message and sum is that of Lava's sigma-delta neurons in the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.verify.message_reference import MessageReference
from tests.backends.lava.loihi2.test_backend import on_the_mock
from tests.backends.lava.needs import needs_lava
from tests.helpers.chip_networks import conv_network, dense_network, skip_network
from tests.helpers.naive_delta import as_delta

needs_lava()


def shifted_by_seven(chip: ChipNetwork) -> ChipNetwork:
    """Thresholds that Lava's neurons declare bits for, a quarter of those before; and a quarter of all weights."""
    layers = tuple(replace(layer, threshold=np.array(2**7), bias=layer.bias // 4) for layer in chip.layers)
    return replace(chip, layers=layers, synapses=tuple(replace(s, weight=s.weight // 4) for s in chip.synapses))


NETWORKS = {
    "clipped rates, a transposed convolution": lambda: shifted_by_seven(as_delta(conv_network(2), band=2)),
    "ReLU, a skip and two loops": lambda: shifted_by_seven(as_delta(skip_network(3), band=2, activation="relu")),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_samples_one_after_the_other_are_those_of_the_reference(tmp_path, name):
    chip = NETWORKS[name]()
    values = np.random.default_rng(5).integers(0, 256, (2, *chip.input.shape), dtype=np.uint8)
    done, found = on_the_mock(tmp_path, chip, values)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = MessageReference(chip, stock=True).run(values, spikes=True)
    for part in ("counts", "potentials", "late", "traces", "spikes"):
        for i, array in enumerate(getattr(expected, part)):
            np.testing.assert_array_equal(found[f"{part}{i}"], array, err_msg=f"{part} {i}")
    np.testing.assert_array_equal(found["readout"], expected.readout)
    assert sum(int(counts.sum()) for counts in expected.counts) > 0
    assert not expected.clip_count.any()


def test_a_vendor_without_sigma_delta_neurons_is_named(tmp_path):
    chip = shifted_by_seven(as_delta(dense_network(1)))
    done, found = on_the_mock(tmp_path, chip, np.zeros((1, 7), np.uint8), MOCK_LOIHI_WITHOUT="SigmaDelta")
    assert (done.returncode, found) == (3, None), done.stderr
    assert "has no neuro-core model of SigmaDelta" in done.stdout
