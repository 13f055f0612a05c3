"""fsnn-map: where every layer goes on the chip, what it uses, and whether it fits."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fsnn_lava.cli.command import Parser, run_command
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.models.find import find_model
from fsnn_lava.placement import core_map
from fsnn_lava.placement.board import board_names
from fsnn_lava.placement.chip_window import ChipWindow
from fsnn_lava.placement.energy import estimate_energy, static_metrics
from fsnn_lava.placement.obstacles import obstacles, risks
from fsnn_lava.placement.placement import Core, Placement, place
from fsnn_lava.placement.placement_table import core_table, placement_table


def _parser() -> Parser:
    parser = Parser(prog="fsnn-map", description="Place a network on a board, without the board.")
    parser.add_argument("network", help="net.h5, as fsnn-export writes it, or the name of a shipped network")
    parser.add_argument("--board", default="oheo-gulch", help=f"{', '.join(board_names())}, or a .toml file (default: %(default)s)")
    parser.add_argument(
        "--readout", choices=("auto", "chip", "host"), default="auto", help="where to compute the readout (default: %(default)s)"
    )
    parser.add_argument("--results", type=Path, help="results.h5 of a run of this network: adds operation counts and an energy estimate")
    parser.add_argument("--cores", action="store_true", help="also list every core")
    parser.add_argument("--svg", type=Path, help="write a picture of the core map")
    parser.add_argument("--json", action="store_true", help="print a machine-readable result")
    return parser


def _run(args: argparse.Namespace) -> int:
    chip = ChipNetwork.load(find_model(args.network))
    placement = place(chip, board=args.board, readout=args.readout)
    metrics = static_metrics(chip) if args.results is None else _metrics(chip, args.results)
    if args.svg is not None:
        with atomic_path(args.svg) as temporary:
            temporary.write_text(core_map.core_map_svg(placement), encoding="utf-8")
    if args.json:
        about = {"obstacles": obstacles(chip), "risks": risks(chip), "latency": _latency(chip), "metrics": metrics}
        found = {"network": str(args.network), **placement.to_dict(), **about}
        if args.cores:
            found["core_list"] = [_core(core) for core in placement.core_list()]
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print(_text(args, placement, metrics))
        for sentence in obstacles(chip):
            print(f"cannot run on the chip: {sentence}")
        for sentence in risks(chip):
            print(f"may lose charge or be refused on the chip: {sentence}")
        latency = _latency(chip)
        print(f"a sample of T = {chip.steps} takes {latency['chip_steps_per_sample']} chip steps; {latency['time_per_step']}")
    return 0 if placement.fits else 1


def _metrics(chip: ChipNetwork, path: Path) -> dict[str, Any]:
    from fsnn_lava.formats import results
    from fsnn_lava.ir.stock_network import stock_equivalent

    result = results.read_results(path).result
    return estimate_energy(stock_equivalent(chip)[0] if result.graph == "stock" else chip, result)


def _latency(chip: ChipNetwork) -> dict[str, int | str]:
    window = ChipWindow(steps=chip.steps, layers=len(chip.layers), first=2 if chip.input.kind == "events" else 1)
    return {"chip_steps_per_sample": window.length, "time_per_step": "the time per step is not public and must be measured"}


def _core(core: Core) -> dict[str, Any]:
    values = dict(vars(core))
    values["use"] = values["use"].columns()
    return values


def _text(args: argparse.Namespace, placement: Placement, metrics: dict[str, Any]) -> str:
    parts = [f"{args.network} on {placement.board.name}, {placement.bits}-bit weights", placement_table(placement)]
    if args.cores:
        parts += ["", core_table(placement)]
    parts += ["", f"footprint {metrics['footprint']} bytes, connection sparsity {metrics['connection_sparsity']:.1%}"]
    if args.results is not None:
        parts.append(_energy(metrics))
    return "\n".join(parts)


def _energy(metrics: dict[str, Any]) -> str:
    counts = f"{metrics['synaptic_operations']:.0f} synaptic operations, {metrics['membrane_updates']:.0f} neuron updates"
    energy, constants = metrics["energy_joules"]["total"], metrics["constants"]
    return (
        f"per sample: {counts}, {metrics['spikes']:.0f} spikes\n"
        f"estimate: {energy * 1e6:.3g} µJ with the published constants of {constants['chip']} ({constants['source']}). {metrics['loihi_2']}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    return run_command("fsnn-map", _run, _parser().parse_args(argv))


if __name__ == "__main__":
    raise SystemExit(main())
