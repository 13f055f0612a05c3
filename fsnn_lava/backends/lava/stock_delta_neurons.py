"""The neurons of a network with delta encoding as stock SigmaDelta processes, connected with each other and to the readout.

Two processes stand for a layer, ReLU(z) - ReLU(z - 2**(q + s)) (see ir/stock_delta.py). Both receive the same messages, and the targets
receive W times the changes of the first and -W times those of the second. With the activation "relu", only the first exists.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from lava.proc.sdn.process import SigmaDelta

from fsnn_lava.backends.lava.stock_order import stock_shape
from fsnn_lava.backends.lava.stock_synapse import GradedRelay, connect_stock, stock_dense_process
from fsnn_lava.ir.network import INPUT, ChipNetwork, DeltaEncoding, Layer, Synapse
from fsnn_lava.ir.relays import relay_name, waits_in_synapse
from fsnn_lava.ir.stock_delta import stock_delta_shift, stock_neurons

CHANGE_BITS = 24  # per message
_SIGNS = (1, -1)  # of a layer's neurons: ReLU(z) and, if rates are clipped, ReLU(z - 1)
_NAMES = ("ReLU(z)", "ReLU(z - 1)")


class StockDeltaNeurons:
    """The neurons of all layers, with the synapses and relays between them; the input is connected by the graph."""

    def __init__(self, chip: ChipNetwork, delta: DeltaEncoding, *, delays_in_synapses: bool = True) -> None:
        """`chip`: the lowered network. `delays_in_synapses`: a delay waits in the synapse if it can, and not in relays."""
        self._chip, self._delays_in_synapses = chip, delays_in_synapses
        self.signs = _SIGNS[: stock_neurons(delta)]
        self.layers = [self._layer(layer, band) for layer, band in zip(chip.layers, delta.dead_bands, strict=True)]
        self.synapses: list[Any] = []
        self.relays: list[Any] = []
        self._delayed: dict[tuple[str, int, int], Any] = {}  # ports that repeat a neuron's changes some steps later
        for synapse in chip.synapses:
            if synapse.source != INPUT:
                self._connect(synapse)

    @property
    def processes(self) -> list[Any]:
        """All processes of the neurons, synapses and relays."""
        return [*(neuron for neurons in self.layers for neuron in neurons), *self.synapses, *self.relays]

    def of(self, name: str) -> list[SigmaDelta]:
        """Return the neurons of a layer."""
        return self.layers[self._chip.index(name)]

    def connect_readout(self, port: Any) -> None:
        """Connect the last layer to the port of the readout."""
        last, readout = self._chip.layers[-1], self._chip.readout
        for sign, neuron in zip(self.signs, self.of(last.name), strict=True):
            weight = (sign * readout.weight).astype(np.int8)
            synapse = stock_dense_process(weight, readout.exponent, last.shape, CHANGE_BITS, f"synapse {neuron.name} to readout")
            neuron.s_out.reshape(new_shape=synapse.s_in.shape).connect(synapse.s_in)
            synapse.a_out.connect(port)
            self.synapses.append(synapse)

    def _layer(self, layer: Layer, band: int) -> list[SigmaDelta]:
        shape, shift = stock_shape(layer.shape), stock_delta_shift(layer)
        names = [f"neuron {layer.name}, {which}" for which in _NAMES[: len(self.signs)]]
        return [SigmaDelta(shape=shape, vth=band, state_exp=shift, name=name) for name in names]

    def _connect(self, synapse: Synapse) -> None:
        chip, delay = self._chip, self._chip.chip_delay(synapse)
        waits = self._delays_in_synapses and waits_in_synapse(synapse)
        for which, sign in enumerate(self.signs):
            process = connect_stock(
                replace(synapse, weight=(sign * synapse.weight).astype(np.int8)),
                before=self._port(synapse.source, which, 0 if waits else delay - 1),
                after=[neuron.a_in for neuron in self.of(synapse.target)],
                source=chip.layer(synapse.source).shape,
                target=chip.layer(synapse.target).shape,
                bits=CHANGE_BITS,
                delay=delay if waits else 1,
            )
            self.synapses.append(process)

    def _port(self, name: str, which: int, late: int) -> Any:
        """Return the port that delivers the changes of a neuron `late` steps after they were sent, through that many relays."""
        if late == 0:
            return self.of(name)[which].s_out
        if (name, which, late) not in self._delayed:
            before, shape = self._port(name, which, late - 1), self._chip.layer(name).shape
            relay = GradedRelay(before, shape, f"{relay_name(name, late)}, {which}", bits=CHANGE_BITS)
            self._delayed[name, which, late] = relay.port
            self.relays.append(relay.neuron)
            self.synapses.append(relay.synapse)
        return self._delayed[name, which, late]
