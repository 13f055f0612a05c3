"""python -m fsnn_lava.backends.lava.self_check: check in a few seconds, with two neurons, that Lava computes correctly."""

from __future__ import annotations

import sys

import numpy as np

from fsnn_lava.backends.availability import require_backend
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.errors import CheckFailed, FsnnError
from fsnn_lava.ir.network import ChipNetwork, DenseSynapse, Input, Layer, Readout
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import executed_network

STEPS = 32
VALUES = np.array([[6, 3], [1, 9]], dtype=np.uint8)


def self_check_network() -> ChipNetwork:
    """Return the network of the self-check: a dense layer of two neurons that excite and inhibit each other; all weights differ."""
    layer = Layer(name="l1", shape=(2,), threshold=np.array(50), bias=np.array([3, -2], dtype=np.int32), scale=np.array(1.0))
    inward = DenseSynapse(source="input", target="l1", weight=np.array([[5, -1], [2, 7]], dtype=np.int8))
    back = DenseSynapse(source="l1", target="l1", weight=np.array([[-9, 13], [-21, 4]], dtype=np.int8))
    readout = Readout(weight=np.array([[1, -3], [2, 1]], dtype=np.int8), bias=np.array([0, 2], dtype=np.int32), scale=np.array(1.0))
    return ChipNetwork(input=Input(kind="pixels", shape=(2,)), layers=(layer,), synapses=(inward, back), readout=readout, steps=STEPS)


def run_self_check() -> str:
    """Run the self-check on our own and on stock Lava processes; return a sentence if both equal the emulator, else raise CheckFailed."""
    chip = self_check_network()
    spikes = 0
    for graph in ("batched", "stock"):
        expected = Emulator(executed_network(chip, graph)).run(VALUES)
        found = _run_on_lava(chip, graph)
        if not _equal(found, expected):
            raise CheckFailed(
                f"Lava ran, but two neurons ({graph} graph) spiked {found.counts[0].tolist()} times, not {expected.counts[0].tolist()}: "
                "this Lava is not lava-nc 0.10.0, or a package it needs has an incompatible version; fsnn-doctor lists them"
            )
        spikes = int(expected.counts[0].sum())
    return f"two neurons ran on our own and on stock Lava processes: {STEPS} steps, {spikes} spikes, identical to the emulator"


def _run_on_lava(chip: ChipNetwork, graph: str) -> Result:
    require_backend("sim")
    from fsnn_lava.backends.lava.simulator import Simulator  # imports Lava
    from fsnn_lava.backends.lava.stock_simulator import StockSimulator

    if graph == "stock":
        return StockSimulator(chip, steps=STEPS).run(VALUES)
    with Simulator(chip, batch=len(VALUES), steps=STEPS) as simulator:
        return simulator.run(VALUES)


def _equal(found: Result, expected: Result) -> bool:
    pairs = zip([*found.counts, *found.potentials], [*expected.counts, *expected.potentials], strict=True)
    return all(np.array_equal(one, other) for one, other in pairs)


def _main() -> int:
    """Run the self-check as a separate process; the exit code is 0 if Lava works."""
    try:
        print(run_self_check())
    except FsnnError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(_main())
