"""Backend "loihi2" from end to end on the mock board, and everything that can break on the way."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fsnn_lava.backends.availability import missing_for_backend
from fsnn_lava.ir.stock_network import stock_equivalent
from hw_tests.networks import STOCK_LIF, one_neuron, ring, with_skip, with_synapse
from tests.backends.lava.loihi2.mock import run_python
from tests.helpers.naive_atrlif import NaiveAtrlif
from tests.helpers.naive_simulator import PlainNeurons, simulate

pytestmark = pytest.mark.skipif(
    bool(missing_for_backend("sim")), reason=f"Lava cannot run here; missing: {'; '.join(missing_for_backend('sim'))}"
)

SCRIPT = """
import sys
import numpy as np
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.errors import FsnnError
from fsnn_lava.running.run import run
folder = sys.argv[1]
try:
    result = run(ChipNetwork.load(folder + "/net.h5"), np.load(folder + "/values.npy"), backend="loihi2", spikes=True)
except FsnnError as error:
    print(type(error).__name__, error)
    sys.exit(error.exit_code)
parts = {}
for name in ("counts", "potentials", "late", "traces", "spikes"):
    for i, array in enumerate(getattr(result, name)):
        parts[f"{name}{i}"] = array
np.savez(folder + "/out.npz", readout=result.readout, digest=np.array(result.digest), backend=np.array(result.backend), **parts)
"""


def on_the_mock(folder, chip, values, **environment):
    """(finished process, arrays that came back or None)."""
    chip.save(folder / "net.h5")
    np.save(folder / "values.npy", values)
    done = run_python("-c", SCRIPT, str(folder), **{"PARTITION": "oheogulch", "FSNN_TIMEOUT": "250", **environment})
    found = dict(np.load(folder / "out.npz")) if (folder / "out.npz").exists() else None
    return done, found


def neurons(layer):
    return NaiveAtrlif(layer=layer) if layer.reset == "subtract" else PlainNeurons(layer)


def assert_as_the_reference(found, chip, values):
    network, _ = stock_equivalent(chip)
    expected = simulate(network, values, neurons=neurons)
    for name in ("counts", "potentials", "late", "traces"):
        for i, array in enumerate(getattr(expected, name)):
            np.testing.assert_array_equal(found[f"{name}{i}"], array, err_msg=f"{name} {i}")
    np.testing.assert_array_equal(found["readout"], expected.readout)
    assert (str(found["digest"]), str(found["backend"])) == (network.digest(), "loihi2")


@pytest.mark.parametrize(
    ("kind", "options"),
    [("dense", {}), ("conv", {}), ("transposed", STOCK_LIF), ("grouped", STOCK_LIF)],
    ids=["dense, ATRLIF", "conv, ATRLIF", "transposed, LIF", "grouped, LIF"],
)
def test_samples_one_after_the_other_are_those_of_the_reference(tmp_path, kind, options):
    chip = with_synapse(kind, **options)
    values = np.random.default_rng(5).integers(0, 256, (2, *chip.input.shape), dtype=np.uint8)
    done, found = on_the_mock(tmp_path, chip, values, FSNN_PROFILE=str(tmp_path / "profile.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert_as_the_reference(found, chip, values)
    assert "T = 12 steps takes a window of 16 chip steps" in done.stderr
    profile = json.loads((tmp_path / "profile.json").read_text())
    assert profile["Loihi2ExecutionTime"]["avg_time_per_step"] == 10.0
    assert profile["Loihi2Activity"]["syn_ops"] == [100, 200]


@pytest.mark.parametrize("environment", [{}, {"FSNN_RELAYS": "1", "MOCK_LOIHI_WITHOUT": "DelayDense"}], ids=["delays", "relays"])
def test_a_skip_arrives_with_the_others_and_none_of_its_spikes_in_the_next_sample(tmp_path, environment):
    chip = with_skip(steps=9)
    events = np.zeros((3, 9, 1), dtype=np.uint8)
    events[0, :] = events[2, 4] = 1
    done, found = on_the_mock(tmp_path, chip, events, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_as_the_reference(found, chip, events)
    assert found["counts1"].any() and not found["counts1"][1].any()


def test_a_leaky_neuron_that_subtracts_rounds_as_atrlif_does(tmp_path):
    chip = one_neuron(threshold=10, decay=1000, steps=16)
    values = np.array([[4], [9], [61]], dtype=np.uint8)
    done, found = on_the_mock(tmp_path, chip, values)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_as_the_reference(found, chip, values)
    assert (found["potentials0"] != simulate(stock_equivalent(chip)[0], values).potentials[0]).any()  # which is not E9


def test_events_are_streamed_and_no_spike_reaches_the_next_sample(tmp_path):
    events = np.zeros((3, 8, 1), dtype=np.uint8)
    events[0, 0] = events[2, 2] = 1
    chip = ring(3, steps=8)
    done, found = on_the_mock(tmp_path, chip, events)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_as_the_reference(found, chip, events)
    assert found["counts0"].reshape(-1).tolist() == [3, 0, 2]


@pytest.mark.parametrize(
    ("environment", "code", "words"),
    [
        ({"MOCK_SINFO": "down", "BOARD": "ncl-og-01"}, 3, "board ncl-og-01 (N3B3) cannot be used: it is down"),
        ({"LOIHI_GEN": "N2A2"}, 3, "N2A2 (LOIHI_GEN) is Loihi 1"),
        ({"MOCK_LOIHI_WITHOUT": "ATRLIF"}, 3, "no neuro-core model of ATRLIF, which resets by subtraction; set FSNN"),
        ({"MOCK_LOIHI_WITHOUT": "ATRLIF", "FSNN_NEURON_MODEL": "no.such:Model"}, 2, "FSNN_NEURON_MODEL must name a process model"),
        ({"MOCK_LOIHI_WITHOUT": "Dense"}, 3, "has no neuro-core model of Dense"),
        ({"MOCK_LOIHI": "hang", "FSNN_TIMEOUT": "12"}, 1, "no answer for 12 s after sample 0 of 1, so the job was stopped"),
        ({"MOCK_LOIHI": "raise", "FSNN_TIMEOUT": "12"}, 1, "backend 'loihi2': "),
        ({"MOCK_LOIHI": "die", "FSNN_TIMEOUT": "12"}, 1, "no answer for 12 s"),
        ({"MOCK_LOIHI": "kill job"}, 1, "the job was killed by signal 9 (SIGKILL) after sample 0 of 1"),
        ({"FSNN_TIMEOUT": "soon"}, 2, "must be a positive number of seconds, got 'soon'"),
    ],
    ids=["board down", "wrong generation", "no ATRLIF", "wrong model", "no Dense", "hang", "raise", "die", "job killed", "bad timeout"],
)  # fmt: skip
def test_what_breaks_ends_with_a_message_and_leaves_nothing_running(tmp_path, environment, code, words):
    done, found = on_the_mock(tmp_path, one_neuron(threshold=10), np.array([[3]], dtype=np.uint8), **environment)
    assert (done.returncode, found) == (code, None), done.stderr
    assert words in done.stdout
    assert "Traceback" not in done.stdout


def test_a_model_of_the_users_own_takes_the_place_of_a_missing_one(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from lava.magma.core.decorator import implements, requires\n"
        "from lava.magma.core.model.nc.model import AbstractNcProcessModel\n"
        "from lava.magma.core.resources import Loihi2NeuroCore\n"
        "from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol\n"
        "from lava.proc.atrlif.models import PyATRLIFModelFixed\n"
        "from lava.proc.atrlif.process import ATRLIF\n\n\n"
        "@implements(proc=ATRLIF, protocol=LoihiProtocol)\n"
        "@requires(Loihi2NeuroCore)\n"
        "class Mine(PyATRLIFModelFixed, AbstractNcProcessModel):\n    pass\n"
    )
    chip = one_neuron(threshold=10)
    values = np.array([[3]], dtype=np.uint8)
    from tests.backends.lava.loihi2.mock import mock_environment

    path = f"{mock_environment()['PYTHONPATH']}:{tmp_path}"
    done, found = on_the_mock(tmp_path, chip, values, MOCK_LOIHI_WITHOUT="ATRLIF", FSNN_NEURON_MODEL="mine:Mine", PYTHONPATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_as_the_reference(found, chip, values)


def test_a_neuron_the_chip_cannot_hold_is_refused(tmp_path):
    done, _ = on_the_mock(tmp_path, one_neuron(threshold=9001), np.array([[3]], dtype=np.uint8))
    assert done.returncode == 2
    assert "ATRLIF on the chip supports thresholds up to 8190 weight units, but this layer has 9001; export with --bits 7" in done.stdout
