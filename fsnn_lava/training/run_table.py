"""What a training run prints: a header, then a run table with one row per epoch, at most 100 characters wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from fsnn_lava.data.dataset import Dataset
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.summary import shape_text
from fsnn_lava.training.log import EpochRecord
from fsnn_lava.training.process_group import ProcessGroup

WIDTHS = (9, 8, 7, 7, 13, 8, 13, 7, 8, 7)  # of the columns
AT_LIMIT = 1e-6  # relative distance at which alpha counts as at its limit
PATIENCE = 3  # consecutive epochs at the limit after which a remark is printed


def run_table_header(net: FSNN, data: Dataset, group: ProcessGroup) -> list[str]:
    """Return the header above the table of a run: data, network, parameters, device and solver, one line each."""
    held_out = "" if data.validation is None else f", {len(data.validation):,} to choose the epoch"
    samples = f"{len(data.train):,} samples to train{held_out}, {len(data.test):,} to test"
    parameters = sum(parameter.numel() for parameter in net.parameters())
    neurons = sum(layer.size for layer in net.architecture.layers)
    outputs = "classes" if data.test.targets is None else "outputs"
    solver = net.solver
    solving = (
        f"{solver.method} to {solver.tol:g}, at most {solver.max_steps} products" if solver.max_steps else "none (Jacobian-free gradient)"
    )
    threads = f", {_counted(torch.get_num_threads(), 'thread')}" if group.device.type == "cpu" else ""
    processes = f", {_counted(group.size, 'process', 'es')}" if group.size > 1 else ""
    return [
        f"data        {data.name}: {samples}, {shape_text(data.shape)}, {data.classes} {outputs}",
        f"network     {net.architecture.text}, {net.neuron}, vth {net.vth:g}, T = {net.steps}, {net.schedule}",
        f"parameters  {parameters:,} in {_counted(len(net.architecture.layers), 'layer')} of {neurons:,} neurons",
        f"device      {group.device}{threads}{processes}",
        f"solver      {solving}",
    ]


def _counted(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"


def run_table_titles(judged_by: str, *, penalised: bool = False) -> str:
    """Return the column titles of the run table; with a cost penalty, operations replace firing rates."""
    activity = "operations" if penalised else "firing rates"
    names = (*("epoch", "loss", "train", {"validation": "valid."}.get(judged_by, judged_by), activity),)
    more = (*("residual", "products", "alpha ", "lr", "s"),)
    return " ".join(f"{name:>{width}}" for name, width in zip((*names, *more), WIDTHS))


def epoch_row(record: EpochRecord, *, epochs: int, limit: float | None, penalised: bool = False) -> str:
    """Return a table row: rates from the lowest to the highest layer, solver products and the residual reached; = marks alpha's limit."""
    rates = sorted(record.firing_rates)
    spread = f"{rates[0]:.3f} – {rates[-1]:.3f}" if len(rates) > 1 else f"{rates[0]:.3f}"
    activity = f"{record.operations:,.0f}" if penalised and record.operations is not None else spread
    solved = "–" if record.solver_residual is None else f"{record.solver_steps:.1f} → {record.solver_residual:.0e}"
    alpha = "–" if record.alpha is None else f"{record.alpha:+.3f}" + ("=" if _at_limit(record.alpha, limit) else " ")
    cells = (
        *(f"{record.epoch}/{epochs}", f"{record.loss:.4f}", f"{record.train_accuracy:.2%}", f"{record.accuracy:.2%}", activity),
        *(f"{record.equilibrium_residual:.3g}", solved, alpha, f"{record.learning_rate:.2g}", f"{record.seconds:.1f}"),
    )
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS))


def _at_limit(alpha: float | None, limit: float | None) -> bool:
    """Return whether the feedback strength is at its limit."""
    return alpha is not None and limit is not None and abs(alpha) >= limit * (1 - AT_LIMIT)


def run_table_remark(history: Sequence[dict[str, Any]], limit: float | None) -> str | None:
    """Return the note to print below the table, only once, when alpha has been at its limit for PATIENCE consecutive epochs."""
    at = [_at_limit(record.get("alpha"), limit) for record in history]
    if limit is None or len(at) < PATIENCE or not all(at[-PATIENCE:]) or all(at[-PATIENCE - 1 : -PATIENCE] or [False]):
        return None
    return (
        f"note: alpha has been at its limit, {limit:g}, for {PATIENCE} epochs: training wants stronger feedback. A larger 'limit' "
        "allows that; the verdict says whether the network still contracts (E6)"
    )
