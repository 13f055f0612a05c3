"""Measure where the time of a training step goes, and how close that is to what the machine can do.

    python bench/train_profile.py [--rounds N] [--json FILE]

Milliseconds are medians over the rounds; each part is timed where it is called, which itself costs a little. The limits are measured in
the same run: the synaptic additions per second are compared with those of the innermost loop alone when every neuron fires, and, for the
dense network, the multiplications and additions of all products with those of one large product.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import fsnn_lava.cli  # before torch: sets how long idle threads spin, for all implementations

# isort: split
import torch
import torch.nn.functional as nnf

import fsnn_lava as fl
from fsnn_lava.compiled.row_sums import add_row_sums_by_block
from fsnn_lava.compiled.scatter import scatter_by_taps
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.nn import feedback
from fsnn_lava.nn.dropout import Masks
from fsnn_lava.nn.event_layout import event_layout
from fsnn_lava.nn.event_simulation import EventRun
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.operators import Convolution, Dense
from fsnn_lava.nn.stage import Stage
from fsnn_lava.solvers import solver
from fsnn_lava.training.descent import descend

CASES = [("400 (F400)", 5), ("64C5s (F64C5)", 30)]
BATCH = 128
LARGE = 2048  # side length of the matrices in the large product
PARTS: dict[str, list[tuple[Any, str]]] = {
    "F forward": [(Stage, "current")],
    "dropout masks": [(fl.FSNN, "_masks")],
    "simulation": [(EventRun, "__init__"), (EventRun, "simulate"), (EventRun, "trace")],
    "vector-Jacobian products of the solver": [(Dense, "transpose"), (Convolution, "transpose")],
    "its solver": [(solver, "gmres_in_parts")],  # includes the products, which are subtracted later
    "dL/dW of the feedback": [(Dense, "weight_gradient"), (Convolution, "weight_gradient")],
    "restricted feedback and its gradient": [(RestrictedFeedback, "weight"), (feedback._Restricted, "backward")],
}
REST = "gradient of F, batch norm, readout, loss, everything else"


@contextmanager
def watched(spent: dict[str, float]) -> Iterator[None]:
    """Add the time of each part to `spent`."""

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                spent[part] += time.perf_counter() - started

        return call

    with ExitStack() as stack:
        for part, places in PARTS.items():
            for owner, name in places:
                alone = isinstance(vars(owner).get(name), staticmethod)
                wrapped = timed(part, getattr(owner, name))
                stack.enter_context(patch.object(owner, name, staticmethod(wrapped) if alone else wrapped))
        yield


def step_of(architecture: str, steps: int) -> tuple[fl.FSNN, torch.optim.SGD, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    net = fl.FSNN(architecture, input_shape=(1, 28, 28), classes=10, neuron=fl.LIF(0.95), steps=steps, dropout=0.2).train()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    return net, optimiser, torch.randn(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))


def profile(architecture: str, steps: int, rounds: int) -> dict[str, Any]:
    net, optimiser, x, y = step_of(architecture, steps)
    rows: dict[str, list[float]] = defaultdict(list)
    for turn in range(rounds + 3):
        spent: dict[str, float] = defaultdict(float)
        for parameter in net.parameters():
            parameter.grad = None
        with watched(spent):
            begun = time.perf_counter()
            nnf.cross_entropy(net(x), y).backward()
            between = time.perf_counter()
            descend(optimiser)
            ended = time.perf_counter()
        spent["its solver"] -= spent["vector-Jacobian products of the solver"]
        spent["optimiser"] = ended - between
        spent[REST] = ended - begun - sum(spent.values())
        if turn >= 3:
            rows["all"].append(ended - begun)
            for part, seconds in spent.items():
                rows[part].append(seconds)
    found = {part: 1e3 * statistics.median(values) for part, values in rows.items()}
    return {"architecture": architecture, "steps": steps, "batch": BATCH, "milliseconds": found, **limits(net, x, found, rounds)}


def limits(net: fl.FSNN, x: torch.Tensor, found: dict[str, float], rounds: int) -> dict[str, float]:
    """Return the operations per second of the simulation and of the products, and those that the machine can reach."""
    assert net.feedback is not None
    assert net.last_trace is not None
    size, weight = net.architecture.layers[0].size, net.feedback.weight().detach()
    layout = event_layout(net._dynamics(x, (weight,), Masks.none(1, 1)))
    laid, activity = layout.connections[0], float(net.last_trace.counts[0].mean()) / net.steps
    passes = net.steps  # the first step has no feedback, and W a of the last one is taken as well
    out = {"additions": activity * laid.products * passes * BATCH / (1e-3 * found["simulation"])}
    ordered = laid.ordered(weight).contiguous().numpy()
    everyone = torch.arange(size, dtype=torch.int32).expand(BATCH, size).contiguous().numpy()
    targets, places = torch.zeros(BATCH, size).numpy(), torch.zeros(BATCH, 14 * 14 + 1, dtype=torch.int32).numpy()
    lengths = torch.full((BATCH,), size).numpy()

    def alone(first: int, end: int) -> None:
        if laid.in_blocks:
            add_row_sums_by_block(targets[first:end], ordered, everyone[first:end], 0, lengths[first:end], size)
            return
        chosen = slice(first, end)
        form = (laid.form, laid.rows, laid.columns)
        scatter_by_taps(targets[chosen], ordered, everyone[chosen], 0, lengths[chosen], 0, *form, places[chosen])

    out["additions, loop alone"] = laid.products * BATCH / least(lambda: over_samples(alone, BATCH, least=BATCH // 2), rounds)
    if isinstance(laid.operator, Dense):
        products = found["F forward"] + found["vector-Jacobian products of the solver"] + found["dL/dW of the feedback"]
        number = (net.last_solve or (0, 0.0))[0] + 1  # of products with W or for its gradient
        done = 2 * BATCH * (784 * size + number * size * size)
        matrix = torch.randn(LARGE, LARGE)
        out |= {"flops": done / (1e-3 * products), "flops, large product": 2 * LARGE**3 / least(lambda: matrix @ matrix, 5)}
    return out


def least(work: Callable[[], object], rounds: int) -> float:
    """Return the shortest time in seconds."""
    work()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = [profile(*case, args.rounds) for case in CASES]
    for row in rows:
        parts = row["milliseconds"]
        print(f"{row['architecture']}, T = {row['steps']}, batch {BATCH}, {torch.get_num_threads()} threads: {parts['all']:.2f} ms")
        for part in (*PARTS, "optimiser", REST):
            print(f"  {part:60s}{parts[part]:9.2f} ms  {parts[part] / parts['all']:5.0%}")
        for name, unit in (("additions", "additions of the simulation"), ("flops", "operations of the products")):
            if name in row:
                best = row["additions, loop alone" if name == "additions" else "flops, large product"]
                print(f"  {row[name] / 1e9:.0f} of {best / 1e9:.0f} billion {unit} per second: {row[name] / best:.0%}")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
