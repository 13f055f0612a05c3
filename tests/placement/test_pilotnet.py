"""The cost model against what is public of PilotNet on one Loihi 2 chip (boards/loihi2.toml says where).

Counts per step are read off the activity plots of the two notebooks, to a few percent. Layers share their work evenly over their cores in
the model, so each is given the operations of its busiest core times its cores where that core's time is tested.
"""

from __future__ import annotations

import pytest

from fsnn_lava.placement.board import Range, load_board
from fsnn_lava.placement.cost import ChipCost, LayerCost

FACTOR = 1.25  # between the model's range and what was published
CONVOLUTIONS = ((99 * 32 * 24, 25), (49 * 15 * 36, 13), (24 * 7 * 48, 3), (22 * 4 * 64, 3), (20 * 2 * 64, 2))  # neurons, cores
DENSE = ((100, 12), (50, 1), (10, 1), (1, 1))
FRAME = 200 * 66 * 3  # values that the host writes for one frame


def pilotnet(*, operations, busiest, arriving, first=(), chips=1, written=0):
    """One step of PilotNet: all layers' operations; the third convolution, on 3 cores, has the busiest."""
    populations = (*CONVOLUTIONS, *DENSE)
    others = sum(neurons for neurons, _ in populations) - CONVOLUTIONS[2][0]  # the input population receives nothing
    layers = []
    for number, (neurons, cores) in enumerate((*first, *populations)):
        busy = number == len(first) + 2  # the third convolution
        layers.append(
            LayerCost(
                name=str(number),
                cores=cores,
                messages=0.0,
                message_bits=0,
                arriving=arriving if busy else 0.0,
                operations=3 * busiest if busy else (number >= len(first)) * (operations - 3 * busiest) * neurons / others,
                updates=neurons,
            )
        )
    return ChipCost(board=load_board("oheo-gulch"), layers=tuple(layers), chips=chips, steps=1, written=written, read=0.0)


def near(figure: Range, published: float, factor: float = FACTOR) -> bool:
    return figure.low / factor <= published <= figure.high * factor


def test_the_lif_network_without_host_io():
    cost = pilotnet(operations=2.29e6, busiest=151e3, arriving=2.6e3, first=((200 * 66 * 3, 13),))
    assert sum(layer.updates for layer in cost.layers) == pytest.approx(159e3, rel=0.01)
    assert near(cost.time_per_step, 152.8e-6, 1.01)  # 408.91 frames/s of 16 steps: what the constants were taken from
    assert near(cost.dynamic_energy, 0.447156 * 152.8e-6, 1.0)
    assert near(cost.energy, 1.661103e-3 / 16)


def test_the_sigma_delta_network_without_host_io():
    cost = pilotnet(operations=590e3, busiest=51e3, arriving=0.75e3)
    assert near(cost.time_per_step, 1.2e-3 / 10)
    assert near(cost.energy, 0.09e-3)
    assert cost.energy.high < 4 * cost.energy.low and cost.time_per_step.high < 2 * cost.time_per_step.low  # a range that says something


def test_the_sigma_delta_network_with_host_io():
    cost = pilotnet(operations=590e3, busiest=51e3, arriving=0.75e3, written=FRAME)
    assert near(cost.time_with_host, 65e-3 / 10) and near(cost.time_with_host, 1 / 16.87)
    assert near(cost.energy_with_host, 1.3e-3) and near(cost.energy_with_host, 16.34e-3)
    assert cost.time_with_host.low > 30 * cost.time.high  # host I/O dominates
