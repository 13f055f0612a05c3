"""Draw a run's log: loss, accuracy, firing rates, residual and solver, epoch by epoch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fsnn_lava.errors import BackendMissing, BadFile
from fsnn_lava.formats.atomic import atomic_path
from fsnn_lava.training.run_folder import LOG


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The epochs in DIR/log.jsonl."""
    path = folder / LOG
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise BadFile(f"cannot read the log {path}: {error.strerror or error}") from error
    except json.JSONDecodeError as error:
        raise BadFile(f"{path}: not a line of JSON: {error}") from error


def draw_curves(folder: Path, path: Path) -> None:
    """Write a picture of the run in `folder` to `path`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    records = read_log(folder)
    epochs = [record["epoch"] for record in records]
    figure, ((loss, accuracy), (rates, residual)) = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained")
    loss.semilogy(epochs, [record["loss"] for record in records])
    loss.set(title="training loss", xlabel="epoch")
    for key, name in (("train_accuracy", "train"), ("test_accuracy", "test")):
        accuracy.plot(epochs, [100 * record[key] for record in records], label=name)
    accuracy.set(title="accuracy in %", xlabel="epoch")
    accuracy.legend()
    for layer in range(len(records[0]["firing_rates"]) if records else 0):
        rates.plot(epochs, [record["firing_rates"][layer] for record in records], label=f"layer {layer + 1}")
    rates.set(title="firing rate, spikes per step", xlabel="epoch")
    rates.legend()
    residual.plot(epochs, [record["equilibrium_residual"] for record in records], label="||f(a[T]) - a[T]||")
    residual.plot(epochs, [record["solver_steps"] for record in records], label="solver steps")
    residual.set(title="equilibrium and solver", xlabel="epoch", yscale="log")
    residual.legend()
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:] or "png", dpi=120)
    pyplot.close(figure)


def write_tensorboard(folder: Path) -> None:
    """Write every number of the log into `folder` as TensorBoard events."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise BackendMissing("--tensorboard needs the package tensorboard: pip install tensorboard; the run itself is done") from error
    with SummaryWriter(str(folder)) as writer:
        for record in read_log(folder):
            for layer, rate in enumerate(record["firing_rates"], start=1):
                writer.add_scalar(f"firing_rate/{layer}", rate, record["epoch"])
            for key, value in record.items():
                if key not in ("epoch", "firing_rates") and value is not None:
                    writer.add_scalar(key, value, record["epoch"])
