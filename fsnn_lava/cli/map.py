"""fsnn-map: show whether a board can run a network, where every layer goes, and what it uses."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fsnn_lava.cli.command import run_command
from fsnn_lava.cli.outputs import check_outputs
from fsnn_lava.cli.parsers.map import map_parser
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.models.find import find_model
from fsnn_lava.placement import core_map
from fsnn_lava.placement.chip_window import ChipWindow
from fsnn_lava.placement.cost import ChipCost
from fsnn_lava.placement.cost_count import count_cost
from fsnn_lava.placement.cost_table import cost_table
from fsnn_lava.placement.neurobench import static_metrics, workload_metrics
from fsnn_lava.placement.placement import Core, Placement, place
from fsnn_lava.placement.placement_table import placement_table, placement_table_by_core


def execute_map(args: argparse.Namespace) -> int:
    """Execute fsnn-map after parsing: place the network on the board and print the table."""
    path = find_model(args.network)
    check_outputs({"--svg": args.svg}, [path, args.results, args.board])
    chip = ChipNetwork.load(path)
    placement = place(chip, board=args.board, readout=args.readout)
    metrics, cost = (static_metrics(chip), None) if args.results is None else _measured(chip, args.results, placement)
    if args.svg is not None:
        with atomic_path(args.svg) as temporary:
            temporary.write_text(core_map.core_map_svg(placement), encoding="utf-8")
    if args.json:
        about = {
            "latency": {"chip_steps_per_sample": _chip_steps(chip)},
            "metrics": metrics,
            **({} if cost is None else {"cost": cost.to_dict()}),
        }
        found = {"network": str(args.network), **placement.to_dict(), **about}
        if args.cores:
            found["core_list"] = [_core(core) for core in placement.core_list()]
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print(_text(args, placement, metrics, cost))
        hint = "" if cost is not None else "; add --results of a run for time and energy"
        print(f"a sample of T = {chip.steps} takes {_chip_steps(chip)} chip steps{hint}")
    return 0 if placement.runs else 1


def _measured(chip: ChipNetwork, path: Path, placement: Placement) -> tuple[dict[str, Any], ChipCost]:
    """Return NeuroBench's counts for the run, and the cost of a sample on the chip."""
    from fsnn_lava.formats import results
    from fsnn_lava.ir.stock_network import stock_equivalent

    stored = results.read_results(path)
    metrics = workload_metrics(stock_equivalent(chip)[0] if stored.result.graph == "stock" else chip, stored.result)
    return metrics, count_cost(chip, stored.result, placement, values=stored.values)


def _chip_steps(chip: ChipNetwork) -> int:
    first = 2 if chip.input.kind == "events" else 1
    return ChipWindow(steps=chip.steps, layers=len(chip.layers), first=first, longest=chip.longest_chip_delay).length


def _core(core: Core) -> dict[str, Any]:
    values = dict(vars(core))
    values["use"] = values["use"].columns()
    return values


def _text(args: argparse.Namespace, placement: Placement, metrics: dict[str, Any], cost: ChipCost | None) -> str:
    parts = [f"{args.network} on {placement.board.name}, {placement.bits}-bit weights:", placement_table(placement)]
    if args.cores:
        parts += ["", placement_table_by_core(placement)]
    parts += ["", f"footprint {metrics['footprint']} bytes, connection sparsity {metrics['connection_sparsity']:.1%}"]
    if cost is not None:
        parts += ["", cost_table(cost)]
    return "\n".join(parts)


def fsnn_map(argv: Sequence[str] | None = None) -> int:
    """Run the `map` command with these arguments."""
    return run_command("fsnn-map", execute_map, map_parser().parse_args(argv))


if __name__ == "__main__":
    raise SystemExit(fsnn_map())
