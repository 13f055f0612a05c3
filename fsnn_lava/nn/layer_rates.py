"""Rates of every layer with a gradient: inner layers are functions of the last one's rates and of the parameters (E17)."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from fsnn_lava.nn.loop_map import LoopMap


def layer_rates(loop: LoopMap, last: Tensor) -> tuple[Tensor, ...]:
    """The rates of every layer; `last` are the last layer's, which carry the implicit gradient (E5).

    The gradient of an inner layer's rates reaches the parameters directly and through `last`, where it adds to the right-hand side
    of beta's system. Batch norm's running statistics are not updated a second time.
    """
    if len(loop.stages) == 1:
        return (last,)
    return (*replace(loop, updates=False)(last)[:-1], last)
