"""Time every phase from a float network to a report at the paper's full sizes: AlexNet-F and CIFARNet-F, untrained.

    python bench/scale.py [alexnet-f] [cifarnet-f] [--samples N] [--only export] [--json FILE]

The images are strokes in the shape of CIFAR-10. The batch-norm statistics are first set to those of the images, because otherwise the
deep layers would be silent. Both processor seconds and wall-clock seconds are given; on a busy machine, the former are what the phase
costs. Parts of a phase are indented; they are timed where they are called. The exit code is 1 if quantisation takes more than two
minutes of processor time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import fsnn_lava.cli  # before torch: how long idle threads spin

# isort: split
import torch
from emulator import images

import fsnn_lava as fl
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.formats.netx import read_netx, write_netx
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.quantisation import quantisation_report, quantise
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.report.report import write_report
from fsnn_lava.verify import export as export_module
from fsnn_lava.verify.comparator import Comparator

NETWORKS = {
    "alexnet-f": "96C3s-256C3-384C3s-384C3-256C3 (F96C3u)",
    "cifarnet-f": "128C3s-256C3-512C3s-1024C3-512C3 (F128C3u)",
}
SHAPE, STEPS, SETTLING_PASSES = (3, 32, 32), 30, 3
QUANTISE_BAR = 120.0  # seconds of the processor
QUANTISE_PARTS: dict[str, list[tuple[Any, str]]] = {
    "fold": [(quantise, "fold")],
    "norms": [(FoldedNetwork, "gains"), (RateMap, "gains")],
    "equilibrium": [(FoldedNetwork, "solve")],
    "simulation": [(quantise, "largest_calibration_potentials")],
    "rounding": [(quantise, "round_layer"), (quantise, "round_readout")],
    "ranges": [(quantise, "check_state_range")],
}
EXPORT_PARTS: dict[str, list[tuple[Any, str]]] = {
    "quantise": [(export_module, "quantise_in_full")],
    "measure": [(export_module, "measure_quantisation")],
    "its simulation": [(quantisation_report, "largest_calibration_potentials")],
    "emulator": [(export_module, "run")],
    "folded network": [(export_module, "_folded_run")],
    "checks": [(export_module, "check_exported_file"), (export_module, "check_exported_folding")],
}
Found = TypeVar("Found")


class Clock:
    """Collects the phases of one network and prints each when it is done."""

    def __init__(self, network: str) -> None:
        self.rows: list[dict[str, Any]] = []
        print(f"{network}: {NETWORKS[network]}, T = {STEPS}", flush=True)

    def phase(self, name: str, work: Callable[[], Found], parts: dict[str, list[tuple[Any, str]]] | None = None) -> Found:
        """What `work` returns; its seconds and those of its `parts` are printed."""
        spent: dict[str, float] = {}
        with watched(parts or {}, spent):
            processor, clock = time.process_time(), time.perf_counter()
            found = work()
            processor, clock = time.process_time() - processor, time.perf_counter() - clock
        self.rows.append({"phase": name, "processor": processor, "clock": clock, "parts": spent})
        print(f"  {name:24s}{processor:9.1f} s{clock:9.1f} s by the clock")
        for part, seconds in spent.items():
            print(f"    {part:22s}{seconds:9.1f} s")
        sys.stdout.flush()
        return found


@contextmanager
def watched(parts: dict[str, list[tuple[Any, str]]], spent: dict[str, float]) -> Iterator[None]:
    """Add up in `spent` the processor's seconds of every part."""

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            started = time.process_time()
            try:
                return function(*args, **options)
            finally:
                spent[part] = spent.get(part, 0.0) + time.process_time() - started

        return call

    with ExitStack() as stack:
        for part, places in parts.items():
            for owner, name in places:
                stack.enter_context(patch.object(owner, name, timed(part, getattr(owner, name))))
        yield


def settled_network(name: str, values: torch.Tensor) -> fl.FSNN:
    """Untrained, with batch norm's statistics those of the images."""
    torch.manual_seed(0)
    net = fl.FSNN(NETWORKS[name], input_shape=SHAPE, classes=10, neuron=fl.IF(), vth=2.0, steps=STEPS)
    net.turns = 1  # a pass through the layers without a simulation
    for _ in range(SETTLING_PASSES):
        net(values)
    net.turns = 0
    return net.eval()


def measure(name: str, samples: int, only: str) -> list[dict[str, Any]]:
    clock, values = Clock(name), images(max(samples, 32), SHAPE)
    net = clock.phase("network", lambda: settled_network(name, torch.from_numpy(values[:8])))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.h5"
        if not only:
            made = clock.phase("quantise", lambda: quantise.quantise_in_full(net, calibration=values), QUANTISE_PARTS)
            clock.phase("write", lambda: write_netx(made.chip, path))
            chip = clock.phase("read", lambda: read_netx(path))
            clock.phase("digest", chip.digest)
            clock.phase("place", lambda: fl.place(chip))
            Emulator(chip).run(values[:1], steps=1)  # compiles
            result = clock.phase(f"emulator, {samples} images", lambda: Emulator(chip).run(values[:samples], steps=STEPS))
            comparator = clock.phase("comparator, set-up", lambda: Comparator(chip, model=net))
            clock.phase(f"comparator, {samples} images", lambda: comparator.add(result, values[:samples]))
            verdict = clock.phase("verdict", comparator.verdict)
            given = {"chip": chip, "result": result, "values": values[:samples], "model": net}
            clock.phase("report", lambda: write_report(Path(folder) / "report.html", verdict=verdict, **given))
        export = lambda: export_module.export(net, path, write=write_netx, read=read_netx, calibration=values)  # noqa: E731
        clock.phase("export with its checks", export, EXPORT_PARTS)
    return clock.rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", choices=[*NETWORKS, []], metavar="NETWORK", help="alexnet-f, cifarnet-f (default: both)")
    parser.add_argument("--samples", type=int, default=4, help="that are run and compared")
    parser.add_argument("--only", choices=("export",), default="", help="this phase alone")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    found = {name: measure(name, args.samples, args.only) for name in args.networks or NETWORKS}
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=1))
    quantised = [row["processor"] for rows in found.values() for row in rows if row["phase"] == "quantise"]
    return int(any(seconds > QUANTISE_BAR for seconds in quantised))


if __name__ == "__main__":
    sys.exit(main())
