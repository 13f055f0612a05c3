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
from fsnn_lava.ir.network import INPUT, ChipNetwork, DenseSynapse, Input, Layer, Readout
from fsnn_lava.ir.synapse_patches import synapse_patches


def compile_training() -> None:
    """Compile the float32 simulation by running it on an empty batch."""
    layers, tables = np.zeros((1, float_run.FORM_START + len(FORM)), np.int64), np.zeros((0, 3), np.int32)
    flat, table, drive = np.zeros(0, np.float32), np.zeros((0, 0), np.float32), np.zeros((0, 0, 0), np.float32)
    one, spikes = np.float32(1), np.zeros((0, 0), np.int64)
    float_run.run_samples(0, 0, layers, tables, flat, flat, drive, table, 1, 1, 1, one, one, table, table, table, table, spikes)


def compile_inference() -> None:
    """Compile the emulator and the functions that the Lava processes call."""
    chip = _network()
    Emulator(chip)
    for synapse, out in ((chip.synapses[0], np.int32), (chip.synapses[1], np.int64)):
        patches = synapse_patches(synapse, (1,), (1,))
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
