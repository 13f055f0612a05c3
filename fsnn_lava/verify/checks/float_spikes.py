"""Check the first link: do the float network's spikes reach its own equilibrium (E11 in float64)?"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fsnn_lava.nn.dynamics import own_delay
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import OFFENDERS_KEPT, Check, Offender
from fsnn_lava.verify.equilibrium import Equilibria
from fsnn_lava.verify.float_network import FloatNetwork
from fsnn_lava.verify.merged_findings import MergedFindings, merge_first, merge_largest, merge_total
from fsnn_lava.verify.neuron_index import first_neuron_indices, neuron_index

LINK = "float equilibrium → float spikes"


class FloatSpikesCheck(MergedFindings):
    """Checks that |f(a) - a| of the float network's spikes is within its bound; also measures how far its rates are from a*."""

    RULES = {
        **dict.fromkeys(("samples", "above", "solved"), merge_total),
        **dict.fromkeys(("residual_max", "bound_max", "distance_max"), merge_largest),
        "offenders": merge_first(OFFENDERS_KEPT),
    }

    def __init__(self, network: FloatNetwork) -> None:
        self.network = network
        self.samples = self.above = self.solved = 0
        self.residual_max = self.bound_max = self.distance_max = 0.0
        self.offenders: list[Offender] = []

    @torch.no_grad()
    def add(self, batch: Batch, equilibria: Equilibria) -> None:
        """Add a batch; `equilibria` are those of the float network for its samples."""
        folded, steps = self.network.folded, batch.steps
        values = torch.from_numpy(batch.values)
        trace = folded.simulate(values, steps, schedule=self.network.schedule)
        mapped = self.network.apply(trace.rates, folded.drive(values, steps))
        for index, (after, rate) in enumerate(zip(mapped, trace.rates, strict=True)):
            residual, bound = (after - rate).abs(), self._bound(index, rate, trace.potentials[index], steps)
            self.residual_max = max(self.residual_max, float(residual.max()))
            self.bound_max = max(self.bound_max, float(bound.max()))
            distance = np.abs(rate.numpy() - equilibria.rates[index])[equilibria.converged]
            self.distance_max = max(self.distance_max, float(distance.max(initial=0.0)))
            self._judge(batch, index, residual, bound)
        self.samples += equilibria.samples
        self.solved += int(np.count_nonzero(equilibria.converged))

    def _bound(self, index: int, rate: Tensor, potential: Tensor, steps: int) -> Tensor:
        """Return (|u| + sum |W| A_d) / (vth A), clipped to rates in [0, 1]; spikes in flight change a trace by at most A_d (E11)."""
        folded = self.network.folded
        total = folded.neuron.weight_sum(steps)
        late: Tensor | float = 0.0
        for connection in folded.feedback:
            source, target = folded.ends(connection)
            if target == index:
                delay = own_delay(source, target, self.network.schedule)
                ones = torch.ones(1, *folded.layers[source].shape, dtype=torch.float64)
                most = connection.with_weight(connection.weight.abs()).apply(ones)
                late = late + most * folded.neuron.weight_sum(min(delay, steps))
        scale = folded.layers[index].vth * total
        high = (torch.clamp(rate + (potential + late) / scale, 0.0, 1.0) - rate).abs()
        low = (torch.clamp(rate + (potential - late) / scale, 0.0, 1.0) - rate).abs()
        return torch.maximum(high, low) + 1e-9  # float64 sums of at most 10**5 terms

    def _judge(self, batch: Batch, index: int, residual: Tensor, bound: Tensor) -> None:
        over = (residual > bound).numpy()
        self.above += int(np.count_nonzero(over))
        layer = batch.chip.layers[index]
        for row, flat in first_neuron_indices(over, OFFENDERS_KEPT - len(self.offenders)):
            got, most = (float(part[row].flatten()[flat]) for part in (residual, bound))
            what = f"|f(a) - a| of the float network is {got:.4g}, above its bound {most:.4g}"
            self.offenders.append({"sample": batch.sample(row), "layer": layer.name, "neuron": neuron_index(layer, flat), "what": what})

    def check(self) -> Check:
        """Return the finding on the float network's spikes."""
        summary = f"the float network's residual exceeds its bound in {self.above} neurons x samples (E11)"
        if self.above == 0:
            residual = f"in float, |f(a) - a| is at most {self.residual_max:.4g}, within its bound (E11; {self.samples} samples)"
            summary = f"{residual}, |a - a*| at most {self.distance_max:.4g} ({self.solved} samples)" if self.solved else residual
        numbers = {
            "samples": self.samples,
            "solved": self.solved,
            "residual_max": self.residual_max,
            "bound_max": self.bound_max,
            "distance_max": self.distance_max if self.solved else None,
            "above": self.above,
        }
        return Check(name="float", link=LINK, passed=self.above == 0, summary=summary, numbers=numbers, offenders=tuple(self.offenders))
