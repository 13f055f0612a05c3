"""Compile the kernels needed by the first training, export and run into the cache of this clone.

.ci/with-python runs this in the background while pip installs the other packages: it needs only numba and numpy. Whatever it has not
compiled by the end is compiled by the first command.
"""

from __future__ import annotations

import numpy as np

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.compiled import float_run
from fsnn_lava.compiled.scatter import FORM
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.network import INPUT, ChipNetwork, DenseSynapse, Input, Layer, Readout


def compile_training() -> None:
    """Compile the float32 simulation by running it on an empty batch."""
    layers, wires = np.zeros((1, float_run.LAYER_COLUMNS), np.int64), np.zeros((0, float_run.FORM_START + len(FORM)), np.int64)
    tables, spikes = np.zeros((0, 3), np.int32), np.zeros((0, 0), np.int64)
    flat, table, drive = np.zeros(0, np.float32), np.zeros((0, 0), np.float32), np.zeros((0, 0, 0), np.float32)
    steps = (1, 1, 1, np.float32(1))  # of a run, of the longest delay, samples together, leak
    float_run.run_samples(0, 0, True, layers, wires, tables, flat, table, drive, table, *steps, flat, table, table, table, table, spikes)


def compile_inference() -> None:
    """Compile the emulator and the functions that the Lava processes call."""
    chip = _network()
    Emulator(chip)
    for synapse, out in ((chip.synapses[0], np.int32), (chip.synapses[1], np.int64)):
        patches = compiled_synapse(synapse, (1,), (1,))
        Scatter(patches, exponent=0, sources=1, targets=1, graded=False, out=out, wide=False)


def _network() -> ChipNetwork:
    """One neuron with feedback."""
    weight, scale = np.ones((1, 1), np.int8), np.array(1.0)
    return ChipNetwork(
        input=Input(kind="pixels", shape=(1,)),
        layers=(Layer(name="l1", shape=(1,), threshold=np.array(100), bias=np.array([0]), scale=scale),),
        synapses=(DenseSynapse(source=INPUT, target="l1", weight=weight), DenseSynapse(source="l1", target="l1", weight=weight)),
        readout=Readout(weight=weight, bias=np.array([0]), scale=scale),
        steps=1,
    )


if __name__ == "__main__":
    compile_training()
    compile_inference()
