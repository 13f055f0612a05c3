"""The curves of a training run: a picture that is updated after every epoch, or events for TensorBoard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from fsnn_lava.errors import BackendMissing, BadArgument, BadFile
from fsnn_lava.files.atomic import atomic_path

Record = dict[str, Any]  # the record of an epoch, as in log.jsonl
Watcher = Callable[[Sequence[Record]], None]  # called after every epoch with all epochs so far
ENDINGS = (".png", ".svg", ".pdf")


def curves(path: Path) -> Watcher:
    """Return a watcher that draws the curves of loss, accuracy, firing rates and residuals to `path`, replacing the file atomically."""
    if path.suffix not in ENDINGS:
        raise BadArgument(f"--curves: the name must end in one of {', '.join(ENDINGS)}, got {path}")
    if not path.parent.is_dir():
        raise BadFile(f"cannot write {path}: there is no folder {path.parent}")

    def watch(records: Sequence[Record]) -> None:
        figure = _draw(records)
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=120)

    return watch


def tensorboard_curves(folder: Path) -> Watcher:
    """Return a watcher that writes every number of an epoch to `folder` for TensorBoard; a resumed run continues its curves."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise BackendMissing("--tensorboard needs the package tensorboard, which is not installed: pip install tensorboard") from error
    seen = list(folder.glob("events.out.tfevents.*")) if folder.is_dir() else []
    state: dict[str, Any] = {}

    def watch(records: Sequence[Record]) -> None:
        if not state:  # remove epochs that an earlier process wrote and that are now repeated
            start = len(records) if seen else 0
            state.update(writer=SummaryWriter(str(folder), purge_step=start + 1), done=start)
        for record in records[state["done"] :]:
            _write(state["writer"], record)
        state["done"] = len(records)
        state["writer"].flush()

    return watch


def _write(writer: Any, record: Record) -> None:
    for layer, rate in enumerate(record["firing_rates"], start=1):
        writer.add_scalar(f"firing_rate/{layer}", rate, record["epoch"])
    for key, value in record.items():
        if key not in ("epoch", "firing_rates") and value is not None:
            writer.add_scalar(key, value, record["epoch"])


def _draw(records: Sequence[Record]) -> Figure:
    figure = Figure(figsize=(9, 6.4), layout="constrained")
    (loss, accuracy), (rates, residual) = figure.subplots(2, 2)
    _line(loss, records, "loss")
    loss.set_title("training loss")
    _logarithmic(loss, subs=(1.0, 2.0, 5.0))
    for key, name in (("train_accuracy", "train"), ("test_accuracy", "test"), ("validation_accuracy", "validation")):
        _line(accuracy, records, key, name=name, scale=100)
    last = records[-1]
    judged_by = "test" if last.get("validation_accuracy") is None else "validation"
    accuracy.set_title(f"accuracy in %: {judged_by} {100 * last[f'{judged_by}_accuracy']:.2f} after epoch {last['epoch']}")
    for layer in range(len(last["firing_rates"])):
        rates.plot(_epochs(records), [record["firing_rates"][layer] for record in records], ".-", label=f"layer {layer + 1}")
    rates.set(title="firing rate, spikes per neuron and step", ylim=(0, None))
    _line(residual, records, "equilibrium_residual", name="equilibrium, max |f(a[T]) − a[T]|")
    _line(residual, records, "solver_residual", name="backward solve, relative")
    residual.set_title("residuals")
    _logarithmic(residual, subs=(1.0,))
    for axes in (loss, accuracy, rates, residual):
        _finish(axes)
    return figure


def _epochs(records: Sequence[Record]) -> list[int]:
    return [record["epoch"] for record in records]


def _line(axes: Axes, records: Sequence[Record], key: str, *, name: str | None = None, scale: float = 1.0) -> None:
    """Plot a key of the records over the epochs that have it."""
    known = [record for record in records if record.get(key) is not None]
    if known:
        axes.plot(_epochs(known), [scale * record[key] for record in known], ".-", label=name)


def _logarithmic(axes: Axes, *, subs: tuple[float, ...]) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(base=10.0, subs=subs))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _finish(axes: Axes) -> None:
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False)
