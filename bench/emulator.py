"""Compare the emulator with stock Lava, dense torch, snntorch and spikingjelly in one run, on the same network with the same spikes.

    python bench/emulator.py [--quick] [--json FILE] [--plot FILE] [--network net.h5 --data NAME] [--no-lava]

lava        the network built from Lava's stock processes, one sample; requires Lava
torch       the integer network as a dense float32 simulation in batches; its spikes must equal the emulator's
snntorch    the same shapes with snntorch's neuron, if it is installed; the same for spikingjelly

Networks are untrained, and their input is scaled down until neurons fire at the desired rate; --network uses a trained network at its
own rate. Rounds are interleaved and the fastest one counts, because other programs can only slow a round down. Milliseconds per sample
are the wall time of the run itself, without building Lava's processes. The exit code is 1 if a spike differs or a speed-up is too small.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nnf

import fsnn_lava as fl
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse
from fsnn_lava.limits import BIAS_MAX

CONV, DENSE = "64C5s (F64C5)", "400 (F400)"
SHAPE = (1, 28, 28)
RATE = 0.03  # spikes per step and neuron
NEVER_SLOWER = 1.0
BARS = {CONV: {"lava": 1000.0, "torch": 4.0}, DENSE: {"lava": 300.0, "torch": NEVER_SLOWER}}  # torch: up to RATE


def images(samples: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Strokes on a dark background: about a fifth of the pixels are lit, as in MNIST."""
    rng = np.random.default_rng(0)
    lit = np.zeros((samples, *shape), dtype=bool)
    for sample in lit:
        y, x = shape[1] // 2, shape[2] // 2
        for _ in range(60):
            y, x = int(np.clip(y + rng.integers(-2, 3), 3, shape[1] - 4)), int(np.clip(x + rng.integers(-2, 3), 3, shape[2] - 4))
            sample[:, y - 1 : y + 2, x - 1 : x + 2] = True
    return (lit * rng.integers(120, 256, lit.shape)).astype(np.uint8)


def network(architecture: str, steps: int, rate: float, values: np.ndarray) -> ChipNetwork:
    """Return an untrained, quantised network; its input is scaled down (above 30 %, its bias is raised) until layer 1 fires at `rate`."""
    torch.manual_seed(0)
    net = fl.FSNN(architecture, input_shape=tuple(values.shape[1:]), classes=10, neuron=fl.IF(), vth=2.0, steps=steps).eval()
    chip = fl.quantise(net, calibration=values[:32], bits=7)  # 7, because these inputs are not normalised
    low, high, nearest = 0.0, 1.0, (float("inf"), chip)
    for _ in range(12):
        middle = (low + high) / 2
        moved = _louder(chip, middle) if rate > 0.3 else _quieter(chip, 1 - middle)
        found = float(Emulator(moved).run(values[:32], steps=steps).rates[0].mean())
        nearest = min(nearest, (abs(found - rate), moved), key=lambda pair: pair[0])
        low, high = (low, middle) if found > rate else (middle, high)
    return nearest[1]


def _quieter(chip: ChipNetwork, amount: float) -> ChipNetwork:
    """Multiply the input weights and the bias of layer 1 by 2**0 … 2**-7, for amounts 0 … 1."""
    factor = 2.0 ** (-7 * amount)
    first, *others = chip.layers
    layer = replace(first, bias=np.rint(first.bias * factor).astype(np.int32))
    synapses = [replace(s, weight=np.rint(s.weight * factor).astype(np.int8)) if s.source == INPUT else s for s in chip.synapses]
    return replace(chip, layers=(layer, *others), synapses=tuple(synapses))


def _louder(chip: ChipNetwork, amount: float) -> ChipNetwork:
    first, *others = chip.layers
    return replace(chip, layers=(replace(first, bias=np.clip(first.bias + np.int32(amount * BIAS_MAX), -BIAS_MAX, BIAS_MAX)), *others))


class DenseTorch:
    """A single-layer integer network in float32, exact as long as every sum fits in 24 bits."""

    def __init__(self, chip: ChipNetwork) -> None:
        self.chip, layer = chip, chip.layers[0]
        self.threshold = torch.from_numpy(np.array(layer.per_neuron(layer.threshold), np.float32) * 64)
        back, out = chip.feedback[0], chip.readout
        self.padding = back.padding if isinstance(back, ConvSynapse) else None
        self.bits = 6 + back.exponent
        self.weight = torch.from_numpy(back.weight.astype(np.float32) * 2.0**self.bits)
        self.readout_bits = 6 + out.exponent
        self.readout = torch.from_numpy(out.weight.astype(np.float32) * 2.0**self.readout_bits)
        self.bias = torch.from_numpy(out.bias.astype(np.float32) * 64)

    def feedback(self, spikes: torch.Tensor) -> torch.Tensor:
        current = nnf.linear(spikes, self.weight) if self.padding is None else nnf.conv2d(spikes, self.weight, padding=self.padding)
        return current.floor_() if self.bits < 0 else current  # the chip rounds down

    @torch.no_grad()
    def run(self, values: np.ndarray, steps: int) -> np.ndarray:
        drive = torch.from_numpy(input_current(self.chip, values)).float()
        u, spikes, counts = torch.zeros_like(drive), torch.zeros_like(drive), torch.zeros_like(drive)
        readout = torch.zeros(len(values), len(self.bias))
        for _ in range(steps):
            u = u + drive + self.feedback(spikes)
            spikes = (u >= self.threshold).float()
            u = u - spikes * self.threshold
            counts += spikes
            out = nnf.linear(spikes.flatten(1), self.readout)
            readout = readout + (out.floor_() if self.readout_bits < 0 else out) + self.bias
        return counts.numpy()


class Library(DenseTorch):
    """The same loop around another library's neuron, in its own units, with threshold 1."""

    def __init__(self, chip: ChipNetwork, neuron: Callable[[], Callable[[torch.Tensor], torch.Tensor]]) -> None:
        super().__init__(chip)
        self.neuron = neuron

    @torch.no_grad()
    def run(self, values: np.ndarray, steps: int) -> np.ndarray:
        drive = torch.from_numpy(input_current(self.chip, values)).float()
        fire, spikes, counts = self.neuron(), torch.zeros_like(drive), torch.zeros_like(drive)
        for _ in range(steps):
            spikes = fire((drive + self.feedback(spikes)) / self.threshold)
            counts += spikes
        nnf.linear(counts.flatten(1), self.readout)
        return counts.numpy()


def snntorch_neuron() -> Callable[[torch.Tensor], torch.Tensor]:
    import snntorch

    neuron, memory = snntorch.Leaky(beta=1.0, threshold=1.0, reset_mechanism="subtract"), [torch.zeros(1)]

    def fire(current: torch.Tensor) -> torch.Tensor:
        spikes, memory[0] = neuron(current, memory[0])
        return spikes

    return fire


def spikingjelly_neuron() -> Callable[[torch.Tensor], torch.Tensor]:
    from spikingjelly.activation_based import neuron

    return neuron.IFNode(v_threshold=1.0, v_reset=None).eval()


def lava_seconds(chip: ChipNetwork, values: np.ndarray, steps: int) -> tuple[float, bool]:
    """Return the seconds for one sample on Lava's own processes, and whether its spikes and potentials equal the emulator's.

    Potentials are compared if neither was clipped: stock ATRLIF clips the sum of all currents, the emulator the potential.
    """
    from fsnn_lava.ir.stock_network import stock_equivalent
    from fsnn_lava.running.run import run

    equivalent, _ = stock_equivalent(chip)
    result = run(chip, values[:1], backend="sim", steps=steps, graph="stock")
    expected = Emulator(equivalent).run(values[:1], steps=steps)
    same = all(np.array_equal(a, b) for a, b in zip(result.counts, expected.counts, strict=True))
    for a, b, flagged, also in zip(result.potentials, expected.potentials, result.clipped, expected.clipped, strict=True):
        same = same and np.array_equal(a[(flagged | also) == 0], b[(flagged | also) == 0])
    return result.seconds, same


def best(rounds: int, runs: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the shortest time of each function over interleaved rounds, and what each returned."""
    seconds: dict[str, float] = {}
    found: dict[str, Any] = {name: run() for name, run in runs.items()}  # run once before timing to load, compile and allocate
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            found[name] = run()
            seconds[name] = min(seconds.get(name, np.inf), time.perf_counter() - start)
    return seconds, found


def compare(chip: ChipNetwork, values: np.ndarray, *, steps: int, rounds: int, libraries: bool = False) -> dict[str, Any]:
    """Return milliseconds per sample for the emulator and the dense simulations, and whether the spikes are equal."""
    emulator, dense = Emulator(chip), DenseTorch(chip)
    runs: dict[str, Callable[[], Any]] = {
        "emulator": lambda: emulator.run(values, steps=steps),
        "torch": lambda: dense.run(values, steps),
    }
    if libraries and importlib.util.find_spec("snntorch"):
        runs["snntorch"] = lambda: Library(chip, snntorch_neuron).run(values, steps)
    if libraries and importlib.util.find_spec("spikingjelly"):
        runs["spikingjelly"] = lambda: Library(chip, spikingjelly_neuron).run(values, steps)
    seconds, found = best(rounds, runs)
    result = found["emulator"]
    row: dict[str, Any] = {"steps": steps, "batch": len(values), "rate": float(result.counts[0].mean()) / steps}
    row["operations_per_sample"], row["spikes_per_sample"] = float(result.operations.mean()), float(result.counts[0].sum() / len(values))
    row["same_spikes"] = bool(np.array_equal(found["torch"], result.counts[0]))
    row["ms_per_sample"] = {name: 1e3 * value / len(values) for name, value in seconds.items()}
    row["times"] = {name: value / seconds["emulator"] for name, value in seconds.items() if name != "emulator"}
    return row


def show(title: str, row: dict[str, Any]) -> None:
    times = ", ".join(f"{name} {row['times'][name]:.1f}x" for name in row["times"])
    print(
        f"{title:32} rate {row['rate']:6.2%} batch {row['batch']:4} T {row['steps']:4}: "
        f"{row['ms_per_sample']['emulator']:.3f} ms/sample; times slower: {times}; spikes {'equal' if row['same_spikes'] else 'DIFFER'}",
        flush=True,
    )


def main_cases(args: argparse.Namespace, rounds: int, steps: int) -> list[dict[str, Any]]:
    rows = []
    for architecture, batch in ((CONV, 64), (DENSE, 512)):
        values = images(batch // 8 if args.quick else batch)
        chip = network(architecture, steps, RATE, values)
        row = compare(chip, values, steps=steps, rounds=rounds, libraries=True)
        row.update(name=architecture, bars=BARS[architecture])
        if not args.no_lava:
            seconds, same = lava_seconds(chip, values, steps)
            row["ms_per_sample"]["lava"], row["lava_same_spikes"] = 1e3 * seconds, same
            row["times"]["lava"] = 1e3 * seconds / row["ms_per_sample"]["emulator"]
            row["same_spikes"] = row["same_spikes"] and same
        rows.append(row)
        show(architecture, row)
    return rows


def trained(args: argparse.Namespace, rounds: int) -> list[dict[str, Any]]:
    """The same for a trained network at its own rate."""
    from fsnn_lava.data import load
    from fsnn_lava.models.find import find_model

    chip = ChipNetwork.load(find_model(args.network))
    values = load(args.data or chip.notes["data"], args.data_dir).test.batch(slice(0, 64))
    row = compare(chip, values, steps=chip.steps, rounds=rounds, libraries=True)
    if not args.no_lava:
        seconds, same = lava_seconds(chip, values, chip.steps)
        row["ms_per_sample"]["lava"], row["times"]["lava"] = 1e3 * seconds, 1e3 * seconds / row["ms_per_sample"]["emulator"]
        row["same_spikes"] = row["same_spikes"] and same
    architecture = chip.notes.get("architecture", str(args.network))
    bars = {"torch": NEVER_SLOWER} | BARS.get(architecture, {}) | ({"torch": NEVER_SLOWER} if row["rate"] > RATE else {})
    row.update(name=f"{architecture} (trained)", bars=bars)
    show(row["name"], row)
    return [row]


def sweeps(rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Measure the cost against firing rate (convolutional and dense), batch size, steps and layer size, each varied separately."""
    found: dict[str, list[dict[str, Any]]] = {"rate": [], "dense": [], "batch": [], "steps": [], "size": []}
    values = images(32)

    def note(which: str, value: float, chip: ChipNetwork, samples: np.ndarray, steps: int = 30) -> None:
        row = compare(chip, samples, steps=steps, rounds=rounds)
        row["value"] = value
        found[which].append(row)
        show(f"{which} = {value:g}", row)

    for rate in (0.001, 0.005, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95):
        note("rate", rate, network(CONV, 30, rate, values), values)
    many = images(512)
    for rate in (0.001, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95):
        note("dense", rate, network(DENSE, 30, rate, many), many)
    chip = network(CONV, 30, RATE, values)
    for batch in (1, 2, 8, 32):
        note("batch", batch, chip, values[:batch])
    for steps in (10, 30, 100):
        note("steps", steps, chip, values[:16], steps)
    for channels in (8, 16, 32, 64, 128):
        note("size", channels, network(f"{channels}C5s (F{channels}C5)", 30, RATE, values), values[:16])
    return found


def linearity(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Fit milliseconds against spikes where fewer than half of the neurons fire; above that, the silent neurons are processed."""
    spikes, spent = (
        np.array([value(row) for row in rows if row["rate"] < 0.5])
        for value in (lambda row: row["spikes_per_sample"], lambda row: row["ms_per_sample"]["emulator"])
    )
    slope, base = np.polyfit(spikes, spent, 1)
    explained = 1 - float(np.sum((spent - slope * spikes - base) ** 2) / np.sum((spent - spent.mean()) ** 2))
    print(f"linear in spikes: {base:.3f} ms + {1e6 * slope:.0f} ns per spike explain {explained:.1%} of the variance")
    return {"ms": float(base), "ns_per_spike": 1e6 * float(slope), "explained": explained}


def plot(found: dict[str, list[dict[str, Any]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 5, figsize=(20, 3.6), layout="constrained")
    titles = {"rate": f"{CONV}, T = 30", "batch": f"{CONV}, T = 30", "dense": f"{DENSE}, T = 30, 512 samples"}
    labels = {
        "rate": "spikes per step and neuron",
        "dense": "spikes per step and neuron",
        "batch": "samples in a batch",
        "steps": "steps T",
        "size": "channels",
    }
    for axis, (which, rows) in zip(axes, found.items()):
        draw = axis.plot if which in ("rate", "dense") else axis.loglog
        for name in ("emulator", "torch"):
            places = [row["rate" if which in ("rate", "dense") else "value"] for row in rows]
            draw(places, [row["ms_per_sample"][name] for row in rows], "o-", label=name)
        axis.set(xlabel=labels[which], ylabel="ms per sample", title=titles.get(which, ""))
        axis.legend()
    figure.savefig(path, dpi=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few steps and samples, no sweeps, no limits on speed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot the sweeps")
    parser.add_argument("--network", help="a trained network to run at its own rate")
    parser.add_argument("--data", help="data set for --network")
    parser.add_argument("--data-dir", type=Path, help="folder that contains the data sets")
    parser.add_argument("--no-lava", action="store_true", help="do not run Lava")
    parser.add_argument("--no-sweeps", action="store_true", help="only the comparison, no sweeps")
    args = parser.parse_args()
    rounds, steps = (1, 6) if args.quick else (5, 30)
    start = time.perf_counter()
    Emulator(network(DENSE, 2, RATE, images(4)))
    print(f"first call took {time.perf_counter() - start:.1f} s (compilation, or loading from the cache)", flush=True)
    rows = main_cases(args, rounds, steps) + (trained(args, rounds) if args.network else [])
    found = {} if args.quick or args.no_sweeps else sweeps(max(2, rounds - 2))
    line = linearity(found["rate"]) if found else {}
    if args.plot and found:
        plot(found, args.plot)
    missed = [
        f"{row['name']}: {name} {row['times'][name]:.1f}x, must be at least {bar:g}x"
        for row in rows
        for name, bar in row["bars"].items()
        if name in row["times"] and row["times"][name] < bar
    ]
    missed += [
        f"{which} {row['value']:g}: slower than torch"
        for which, part in found.items()
        for row in part
        if row["times"]["torch"] < NEVER_SLOWER
    ]
    for sentence in [] if args.quick else missed:
        print(f"missed: {sentence}")
    if args.json:
        machine = {"cores": os.cpu_count(), "torch_threads": torch.get_num_threads(), "load": os.getloadavg()}
        args.json.write_text(
            json.dumps({"machine": machine, "cases": rows, "sweeps": found, "linear": line, "missed": missed}, indent=2) + "\n"
        )
    differ = [row for row in [*rows, *(row for part in found.values() for row in part)] if not row["same_spikes"]]
    return 1 if differ or (missed and not args.quick) else 0


if __name__ == "__main__":
    sys.exit(main())
