"""Make the paper's figures and tables for our own trained networks: residual against steps, memory, firing rates, accuracy against steps.

    python bench/paper_figures.py digits mnist fashion-mnist-if [--data DIR] [--samples N] [--most T] [--no-memory]

NAME is a network in examples/models (model.pt). Measurements are stored in docs/figures/paper.json, and the page docs/paper.md and its
pictures are generated from that file, so networks can be added one by one. --page alone generates both again.

Fig. 2, appendix G   ||f(a[t]) - a[t]|| of the first and the last layer, t = 1 ... T (default 1000), mean over 8 test samples. A recording
                     of events has as many steps as frames.
Table 4              the memory that a training step needs on top of the idle process, at T = 30 and 100: by the implicit gradient, and by
                     backpropagation through time in the same code (bench/train_step.py), batch 16.
Table 5              spikes per step and neuron of every layer.
Table 6              accuracy and mean firing rate with fewer and more steps than in training.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fsnn_lava.cli  # before torch: how long idle threads spin

# isort: split
import numpy as np
import torch
import torch.nn.functional as nnf
from train_step import Rectangle, _status

import fsnn_lava as fl
from fsnn_lava.data import Split, load
from fsnn_lava.report import svg_figure

ROOT = Path(__file__).resolve().parents[1]
MODELS, PAGE = ROOT / "examples" / "models", ROOT / "docs" / "paper.md"
FIGURES = ROOT / "docs" / "figures"
KEPT = FIGURES / "paper.json"
RESIDUAL_SAMPLES, BATCH, MEMORY_BATCH = 8, 250, 16
MEMORY_STEPS = (30, 100)
METHODS = ("implicit", "unrolled")
PAPER_MEMORY = {"implicit": ("2.8 GB", "2.8 GB"), "unrolled": ("11 GB", "out of memory (about 36 GB)")}  # AlexNet-F, LIF, on a GPU
PAPER_RATES = {"IF": (0.0172, 0.0041, 0.0025, 0.0008, 0.0200, 0.0070), "LIF": (0.0166, 0.0039, 0.0024, 0.0008, 0.0177, 0.0066)}
PAPER_STEPS = ((5, 10.67, 0.0016), (10, 74.39, 0.0046), (15, 87.07, 0.0059), (20, 90.16, 0.0063), (25, 91.33, 0.0065), (30, 91.82, 0.0066))


def measure(name: str, folder: Path | None, samples: int | None, most: int, *, memory: bool) -> dict[str, Any]:
    """Everything about one network."""
    net = fl.FSNN.load(MODELS / name / "model.pt")
    test = load(net.metrics["data"], folder).test
    number = min(samples or len(test), len(test))
    shares = {max(1, round(net.steps * k / 6)) for k in range(1, 7)} | {2 * net.steps}
    frames = test.shape[0] if len(test.shape) == 1 + len(net.architecture.input_shape) else None
    steps = sorted(t for t in shares if frames is None or t <= frames)
    print(f"{name}: accuracy with {', '.join(map(str, steps))} steps", flush=True)
    return {
        "architecture": net.architecture.text,
        "neuron": "IF" if net.neuron.leak == 1.0 else f"LIF, leak {net.neuron.leak:g}",
        "steps": net.steps,
        "samples": number,
        "residual": residuals(net, test, min(most, frames or most)),
        "by steps": [with_steps(net, test, number, t) for t in steps],
        "megabytes": {method: [needed_memory(name, method, t) for t in MEMORY_STEPS] for method in METHODS}
        if memory and not frames
        else {},
    }


@torch.no_grad()
def residuals(net: fl.FSNN, test: Split, most: int) -> dict[str, list[float]]:
    """||f(a[t]) - a[t]||, Euclidean over the neurons of a layer, at steps that are evenly spaced on a logarithmic scale."""
    images = torch.from_numpy(test.batch(range(RESIDUAL_SAMPLES)))
    found: dict[str, list[float]] = {"steps": [], "first layer": [], "last layer": []}
    for steps in sorted({round(t) for t in np.geomspace(1, most, 30)}):
        rates = net.simulate(images, steps).rates
        mapped = net.rate_map(net.average(net.normalise(images), steps))(rates[-1])
        found["steps"].append(steps)
        for layer, key in ((0, "first layer"), (-1, "last layer")):
            found[key].append(float((mapped[layer] - rates[layer]).flatten(1).norm(dim=1).mean()))
    return found


@torch.no_grad()
def with_steps(net: fl.FSNN, test: Split, number: int, steps: int) -> dict[str, Any]:
    """Accuracy in %, and firing rates per layer and over all neurons, in a run of so many steps."""
    right, spikes = 0, np.zeros(len(net.stages))
    for start in range(0, number, BATCH):
        rows = range(start, min(start + BATCH, number))
        answers = net(torch.from_numpy(test.batch(rows)), steps).argmax(1).numpy()
        right += int((answers == test.labels[rows.start : rows.stop]).sum())
        assert net.last_trace is not None
        spikes += [float(count.sum()) for count in net.last_trace.counts]
    sizes = np.array([layer.size for layer in net.architecture.layers])
    rates = spikes / (number * steps * sizes)
    return {
        "steps": steps,
        "accuracy": 100 * right / number,
        "rates": rates.tolist(),
        "total": float(spikes.sum() / (number * steps * sizes.sum())),
    }


def needed_memory(name: str, method: str, steps: int) -> float:
    """Megabytes of a training step over idle, in a fresh process whose allocator returns every tensor at once."""
    command = [sys.executable, __file__, name, "--one", method, str(steps)]
    settings = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=settings).stdout.split()[-1])


def print_memory(name: str, method: str, steps: int) -> None:
    torch.set_num_threads(1)
    net = fl.FSNN.load(MODELS / name / "model.pt").train()
    images, labels = torch.rand(MEMORY_BATCH, *net.architecture.input_shape), torch.zeros(MEMORY_BATCH, dtype=torch.long)

    def train(number: int) -> None:
        logits = net(images, number) if method == "implicit" else unrolled(net, images, number)
        nnf.cross_entropy(logits, labels).backward()
        net.zero_grad()

    train(1)  # everything is loaded and compiled once
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    idle = _status("VmRSS")
    train(steps)
    print((_status("VmHWM") - idle) / 1024)


def unrolled(net: fl.FSNN, images: torch.Tensor, steps: int) -> torch.Tensor:
    """The logits with a graph through all steps."""
    first, *others = net.stages
    weight = net.feedback.weight() if net.feedback else None
    drive = first.normalise(first.current(images), running=False)
    potentials = [torch.zeros(len(images), *layer.out_shape) for layer in net.architecture.layers]
    spikes, total = torch.zeros_like(potentials[-1]), torch.zeros_like(potentials[-1])
    for _ in range(steps):
        current = drive if net.feedback is None or weight is None else drive + net.feedback.operator.apply(weight, spikes)
        for index in range(len(net.stages)):
            if index:
                current = others[index - 1].normalise(others[index - 1].current(spikes), running=False)
            charged = net.neuron.leak * potentials[index] + current
            spikes = Rectangle.apply(charged - net.vth)
            potentials[index] = charged - net.vth * spikes
        total = total + spikes
    return net.readout(total.flatten(1) / steps)


def page(kept: dict[str, Any]) -> str:
    """docs/paper.md."""
    parts = [
        "# The paper's figures, for the networks trained here",
        "`python bench/paper_figures.py NAME …` measures networks in `examples/models` and writes this page. "
        "The paper's numbers (M. Xiao et al., NeurIPS 2021) are for AlexNet-F, trained on CIFAR-10 for 100 epochs. Our networks are "
        "smaller and most of them were trained on other data, so compare how the numbers change, not how large they are.",
        "## Convergence to the equilibrium (Fig. 2, appendix G)",
        "The residual is the Euclidean norm ‖f(a[t]) − a[t]‖ over the neurons of a layer, where a[t] are the rates after t steps; it is "
        "zero at the equilibrium. The table gives its mean over 8 test samples. The paper plots it up to 1000 steps: it "
        "decreases in all cases, is larger in the last layer than in the first, and is mostly larger with LIF than with IF neurons.",
        residual_table(kept),
        "With IF neurons, the residual falls as 1/t up to 1000 steps. With LIF neurons, it stays at a floor: the leaky average is "
        "one over about 1/(1 − leak) steps, however long the run.",
        *[f"![Residual of {name} against the number of steps, on logarithmic axes](figures/paper-residual-{name}.png)" for name in kept],
        "## Memory of a training step (table 4)",
        "*Implicit* is the gradient at the equilibrium; *through time* is backpropagation through all steps, in the same code. Ours is the "
        "memory on top of the idle process, on a CPU.",
        memory_table(kept),
        "## Firing rates (table 5)",
        "Spikes per step and neuron.",
        rate_table(kept),
        "## Accuracy with other numbers of steps (table 6)",
        "Each network runs with fewer and with more steps than the number in bold, which it is meant for. The cells give the accuracy in "
        "%, and in brackets the mean firing rate over all neurons.",
        *[steps_table(name, row) for name, row in kept.items()],
        "The paper, AlexNet-F with LIF, trained with 30 steps:",
        "\n".join(
            ["| steps | accuracy, % | firing rate |", "|---|---|---|"]
            + [f"| {'**30**' if t == 30 else t} | {accuracy:.2f} | {rate:.4f} |" for t, accuracy, rate in PAPER_STEPS]
        ),
    ]
    return "\n\n".join(parts) + "\n"


def residual_table(kept: dict[str, Any]) -> str:
    lines = ["| network | neuron | layer | t = 10 | t = 30 | t = 100 | t = 1000 |", "|---|---|---|---|---|---|---|"]
    for name, row in kept.items():
        found = row["residual"]
        for layer in ("first layer", "last layer") if _several_layers(row) else ("first layer",):
            cells = [_at(found["steps"], found[layer], t) for t in (10, 30, 100, 1000)]
            which = layer if _several_layers(row) else "the only layer"
            lines.append(f"| {name} | {row['neuron']} | {which} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _several_layers(row: dict[str, Any]) -> bool:
    return len(row["by steps"][0]["rates"]) > 1


def _at(steps: list[int], values: list[float], wanted: int) -> str:
    """The value at `wanted` steps, between two measured ones on a double logarithmic scale; a dash beyond the last."""
    if wanted > steps[-1]:
        return "–"
    positive = np.maximum(values, 1e-12)
    return f"{float(np.exp(np.interp(np.log(wanted), np.log(steps), np.log(positive)))):.3g}"


def memory_table(kept: dict[str, Any]) -> str:
    lines = ["| network, batch 16 | implicit, T = 30 | T = 100 | through time, T = 30 | T = 100 |", "|---|---|---|---|---|"]
    for name, row in kept.items():
        if row["megabytes"]:
            cells = [f"{value:.0f} MB" for method in METHODS for value in row["megabytes"][method]]
            lines.append(f"| {name} `{row['architecture']}` | " + " | ".join(cells) + " |")
    lines.append("| the paper, AlexNet-F, on a GPU | " + " | ".join(cell for method in METHODS for cell in PAPER_MEMORY[method]) + " |")
    return "\n".join(lines)


def rate_table(kept: dict[str, Any]) -> str:
    lines = ["| network | neuron | steps | layer 1 | 2 | 3 | 4 | 5 | all neurons |", "|---|---|---|---|---|---|---|---|---|"]
    for name, row in kept.items():
        own = next(one for one in row["by steps"] if one["steps"] == row["steps"])
        cells = [f"{rate:.4f}" for rate in own["rates"]]
        lines.append(
            f"| {name} | {row['neuron']} | {row['steps']} | " + " | ".join([*cells, *[""] * (5 - len(cells))]) + f" | {own['total']:.4f} |"
        )
    for neuron, rates in PAPER_RATES.items():
        lines.append(f"| the paper, AlexNet-F | {neuron} | 30 | " + " | ".join(f"{rate:.4f}" for rate in rates) + " |")
    return "\n".join(lines)


def steps_table(name: str, row: dict[str, Any]) -> str:
    head = [f"**{one['steps']}**" if one["steps"] == row["steps"] else str(one["steps"]) for one in row["by steps"]]
    cells = [f"{one['accuracy']:.2f} ({one['total']:.4f})" for one in row["by steps"]]
    title = f"{name} `{row['architecture']}`, {row['neuron']}, {row['samples']} test samples"
    return "\n".join(
        [f"| {title} | " + " | ".join(head) + " |", "|---" * (1 + len(head)) + "|", "| accuracy | " + " | ".join(cells) + " |"]
    )


def draw(name: str, row: dict[str, Any]) -> None:
    """Draw Fig. 2 of one network."""
    found = row["residual"]
    with svg_figure.report_figure_style():
        figure = svg_figure.new_figure(470, 300)
        axis = figure.subplots()
        several = _several_layers(row)
        axis.loglog(found["steps"], found["first layer"], color=svg_figure.BLUE, label="first layer" if several else "the only layer")
        if several:
            axis.loglog(found["steps"], found["last layer"], color=svg_figure.ORANGE, label="last layer")
        slope = [found["first layer"][0] / t for t in found["steps"]]
        axis.loglog(found["steps"], slope, color=svg_figure.SOFT, linestyle=":", label="1/t, for comparison")
        axis.axvline(row["steps"], color=svg_figure.SOFT, linewidth=1.0, label=f"T = {row['steps']}, its own number of steps")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter(lambda value, _: svg_figure.figure_tick_label(value))
        axis.set(title=f"{name}: {row['neuron']} neurons", xlabel="steps t", ylabel="residual ‖f(a[t]) − a[t]‖")
        axis.legend(loc="lower left", frameon=True, facecolor="white", edgecolor="none", framealpha=1.0)
        figure.savefig(FIGURES / f"paper-residual-{name}.png", dpi=150, facecolor="white")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a network of examples/models")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the data sets (default: $FSNN_DATA)")
    parser.add_argument("--samples", type=int, help="test samples for the accuracy (default: all)")
    parser.add_argument("--most", type=int, default=1000, metavar="T", help="steps of the longest run of the residual")
    parser.add_argument("--no-memory", action="store_true", help="without table 4")
    parser.add_argument("--page", action="store_true", help="make the page anew from what is kept")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "STEPS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print_memory(args.names[0], args.one[0], int(args.one[1]))
        return
    if not args.names and not args.page:
        parser.error("give the names of networks to measure, or --page")
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    for name in args.names:
        kept[name] = measure(name, args.data, args.samples, args.most, memory=not args.no_memory)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(page(kept), encoding="utf-8")
    for name, row in kept.items():
        draw(name, row)


if __name__ == "__main__":
    main()
