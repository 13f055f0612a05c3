"""Find out from the classes of a network's modules which known framework it comes from."""

from __future__ import annotations

import sys

from torch import nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.sources.framework import Framework
from fsnn_lava.importing.sources.norse import Norse
from fsnn_lava.importing.sources.sinabs import Sinabs
from fsnn_lava.importing.sources.snntorch import SnnTorch
from fsnn_lava.importing.sources.spikingjelly import SpikingJelly

FRAMEWORKS: tuple[Framework, ...] = (SnnTorch(), SpikingJelly(), Norse(), Sinabs())


def framework_of(module: nn.Module) -> Framework | None:
    """Return the known framework of a network's neurons; None if it has no known spiking neurons. No package is imported for this."""
    loaded = [one for one in FRAMEWORKS if one.package in sys.modules]
    found = [one for one in loaded if any(one.is_neuron(part) for part in module.modules())]
    if len(found) > 1:
        raise BadArgument(f"the network mixes neurons of {' and '.join(one.title for one in found)}; convert its parts one by one")
    return found[0] if found else None
