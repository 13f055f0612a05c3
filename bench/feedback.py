"""Does feedback help? Compare a recipe's network with two variants without feedback, over several seeds.

    python bench/feedback.py digits [--seeds N] [--out DIR] [--data DIR] [--json FILE] [--set key=value …]

feedback    the recipe's network
none        the same network without its feedback
wide        no feedback, and every layer widened by the same factor until it has at least as many parameters as the first

digits means train/digits.toml; other recipes are named in the same way (cifar10-feedback is a shortened one, made for this). Trained
networks and their figures are kept in DIR (default: runs/feedback) and not computed again. The table gives means and standard deviations
over the seeds, for the last epoch on the test samples, so that nothing was chosen on these: accuracy; spikes and synaptic operations per
sample (spikes times outgoing connections, including readout and feedback but not the input); the largest |f(a) - a| in the last layer
after T steps (mean over 250 samples); and the accuracy with Gaussian noise of a tenth of the range, with images shifted by one pixel to
the right and down, and with half the steps.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import fsnn_lava.cli  # noqa: F401  before torch: how long idle threads spin

# isort: split
import numpy as np
import torch

from fsnn_lava.data import Dataset, Split
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.training import run_folder
from fsnn_lava.training.evaluate import BATCH, equilibrium_residual
from fsnn_lava.training.loop import train
from fsnn_lava.training.recipe import Recipe, load_recipe
from fsnn_lava.training.samples import load_samples

RECIPES = Path(__file__).parents[1] / "train"
VARIANTS = ("feedback", "none", "wide")
FIGURES = "figures.json"
NOISE = 0.1  # standard deviation as a share of the range
COLUMNS = {
    "accuracy": "accuracy, %",
    "noisy": "with noise",
    "moved": "shifted by a pixel",
    "half": "half the steps",
    "spikes": "spikes per sample",
    "operations": "operations per sample",
    "residual": "residual",
}


def without_feedback(architecture: str) -> str:
    """Return the notation without its feedback."""
    return re.sub(r"\s*\(.*\)", "", architecture)


def widened(architecture: str, factor: float) -> str:
    """Return the notation with the width of every layer multiplied by `factor` and rounded; pooling is unchanged."""
    parts = [
        part if part.startswith("P") else re.sub(r"^\d+", lambda n: str(round(int(n[0]) * factor)), part)
        for part in architecture.split("-")
    ]
    return "-".join(parts)


def variant(recipe: Recipe, kind: str, data: Dataset) -> Recipe:
    """Return the recipe of one of VARIANTS."""
    if kind == "feedback":
        return recipe
    plain = without_feedback(recipe.architecture)
    if kind == "none":
        return dataclasses.replace(recipe, architecture=plain)
    needed = parameters(recipe.architecture, data)
    factor = 1.0
    while parameters(widened(plain, factor), data) < needed:
        factor += 0.005
    return dataclasses.replace(recipe, architecture=widened(plain, factor))


def parameters(architecture: str, data: Dataset) -> int:
    """Return the number of trainable parameters."""
    net = FSNN(architecture, input_shape=data.shape, classes=data.classes)
    return sum(parameter.numel() for parameter in net.parameters())


@torch.no_grad()
def figures(net: FSNN, samples: Split) -> dict[str, float]:
    """Return the figures in the table for one trained network."""
    plain, spikes, operations = measured(net, samples)
    half = max(net.steps // 2, 1)
    residual = equilibrium_residual(net, torch.from_numpy(samples.batch(slice(0, BATCH))))
    found = {"accuracy": plain, "spikes": spikes, "operations": operations, "residual": residual}
    found["noisy"] = measured(
        net, samples, change=partial(noisy, largest=255.0 if net.normalisation is None else net.normalisation.divisor)
    )[0]
    found["moved"] = measured(net, samples, change=shifted)[0]
    return {**found, "half": measured(net, samples, steps=half)[0]}


@torch.no_grad()
def measured(net: FSNN, samples: Split, *, change: Any = None, steps: int | None = None) -> tuple[float, float, float]:
    """Return the accuracy in %, and spikes and operations per sample."""
    fan = fan_out(net)
    right = spikes = operations = 0.0
    for first in range(0, len(samples), BATCH):
        chosen = slice(first, first + BATCH)
        images = samples.batch(chosen)
        logits = net(torch.from_numpy(images if change is None else change(images, first)), steps)
        right += float((logits.argmax(1) == torch.from_numpy(samples.labels[chosen])).sum())
        assert net.last_trace is not None
        for count, connections in zip(net.last_trace.counts, fan, strict=True):
            spikes += float(count.sum())
            operations += float((count * connections).sum())
    return 100 * right / len(samples), spikes / len(samples), operations / len(samples)


def fan_out(net: FSNN) -> list[torch.Tensor]:
    """Return, per layer, the number of outgoing connections of each neuron: to the next layer or the readout, and through the feedback."""
    out = []
    for stage in list(net.stages)[1:]:
        operator, weight, _ = stage.folded()
        out.append(operator.transpose(torch.ones_like(weight), torch.ones(1, *operator.out_shape)))
    last = torch.full((1, *net.architecture.layers[-1].out_shape), float(net.architecture.classes))
    if net.feedback is not None:
        operator = net.feedback.operator
        last = last + operator.transpose(torch.ones(operator.weight_shape), torch.ones(1, *operator.out_shape))
    return [*out, last]


def noisy(images: np.ndarray, first: int, *, largest: float) -> np.ndarray:
    """Add Gaussian noise, then round and clip to 0 … `largest`; the noise is the same for every network."""
    noise = np.random.default_rng(first).normal(0.0, largest * NOISE, images.shape)
    return np.clip(np.rint(images + noise), 0, largest).astype(np.uint8)


def shifted(images: np.ndarray, first: int) -> np.ndarray:
    """Shift by one pixel to the right and down, filling with zeros."""
    out = np.zeros_like(images)
    out[..., 1:, 1:] = images[..., :-1, :-1]
    return out


def one(recipe: Recipe, data: Dataset, folder: Path) -> FSNN:
    """Return the trained network, after training or resuming if necessary."""
    done = (folder / run_folder.STATE).is_file()
    train(recipe, data, folder, resume=done)
    return FSNN.load(folder / run_folder.LAST)


def kept_figures(recipe: Recipe, data: Dataset, folder: Path) -> dict[str, float]:
    """Return the figures of one network, from the file in its folder if they were measured there for the same recipe."""
    path, asked = folder / FIGURES, str(dataclasses.asdict(recipe))
    kept = json.loads(path.read_text()) if path.is_file() else {}
    if kept.get("recipe") != asked:
        kept = {"recipe": asked, "figures": figures(one(recipe, data, folder), data.test)}
        path.write_text(json.dumps(kept, indent=1))
    found: dict[str, float] = kept["figures"]
    return found


def compare(name: str, recipe: Recipe, data: Dataset, out: Path, seeds: int) -> list[dict[str, Any]]:
    made = {kind: variant(recipe, kind, data) for kind in VARIANTS}
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in VARIANTS}
    for seed in range(1, seeds + 1):  # outermost, so that a run that is stopped early has all variants
        for kind in VARIANTS:
            found[kind].append(kept_figures(dataclasses.replace(made[kind], seed=seed), data, out / name / f"{kind}-{seed}"))
    return [
        {"variant": kind, "architecture": own.architecture, "parameters": parameters(own.architecture, data), "seeds": found[kind]}
        for kind, own in made.items()
    ]


def table(name: str, recipe: Recipe, data: Dataset, rows: list[dict[str, Any]]) -> str:
    """Return the table in Markdown."""
    number = len(rows[0]["seeds"])
    lines = [
        f"{name}: {recipe.epochs} epochs, T = {recipe.steps}, {len(data.train)} training and {len(data.test)} test samples, {number} seeds",
        "",
    ]
    lines += ["| | network | parameters | " + " | ".join(COLUMNS.values()) + " |", "|---" * (3 + len(COLUMNS)) + "|"]
    for row in rows:
        cells = [spread([seed[key] for seed in row["seeds"]]) for key in COLUMNS]
        lines.append(f"| {row['variant']} | `{row['architecture']}` | {row['parameters']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    """Format as mean ± standard deviation."""
    mean, deviation = statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0
    digits = 2 if mean < 1000 else 0
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME", help="a recipe in train/")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/feedback"), metavar="DIR")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder that contains the data sets (default: $FSNN_DATA)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the recipe, for example epochs=3")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    found = {}
    for name in args.names:
        recipe = load_recipe(RECIPES / f"{name}.toml", changes=args.set)
        data = load_samples(recipe, root=args.data)
        found[name] = compare(name, recipe, data, args.out, args.seeds)
        print(table(name, recipe, data, found[name]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
