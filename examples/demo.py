"""The whole pipeline on the built-in digits: train, export, run as Lava processes, compare with the equilibrium, write a report.

All files go to demo/. Every step is a command, which is printed before it runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import shutil
import sys
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WITHOUT_LAVA = (
    "The Lava part is skipped: lava-nc is not installed for this Python {version}. "
    "Run fsnn-doctor --install-lava, or make demo, which installs it."
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for all files that the demo writes (default: demo)")
    parser.add_argument("--epochs", type=int, help="train for fewer epochs than the recipe")
    parser.add_argument("--open", action="store_true", help="open the report in a browser at the end")
    args = parser.parse_args(argv)
    lava = importlib.util.find_spec("lava") is not None
    missing = WITHOUT_LAVA.format(version=".".join(map(str, sys.version_info[:2])))
    if not lava:
        print(missing)
    code = _story(args.out, args.epochs, backend="sim" if lava else "emu")
    report = args.out / "report.html"
    if report.exists():
        print(f"\nThe report is {report}: open it in a browser.")
        if args.open:
            webbrowser.open(report.resolve().as_uri())
    if not lava:
        print(missing)
    return code


def _story(out: Path, epochs: int | None, *, backend: str) -> int:
    from fsnn_lava.cli.compare import fsnn_compare
    from fsnn_lava.cli.export import fsnn_export
    from fsnn_lava.cli.run import fsnn_run
    from fsnn_lava.cli.train import fsnn_train

    _prepared(out)
    shorter = [] if epochs is None else ["--set", f"epochs={epochs}"]
    folder, net, results, report = out / "train", out / "net.h5", out / "results.h5", out / "report.html"
    model = folder / "last.pt"
    steps: list[tuple[str, Callable[[Sequence[str]], int], list[str]]] = [
        ("fsnn-train", fsnn_train, [str(ROOT / "train" / "digits.toml"), "--out", str(folder), *shorter]),
        ("fsnn-export", fsnn_export, [str(model), str(net)]),
        ("fsnn-run", fsnn_run, [str(net), "--backend", backend, "--out", str(results), "--no-compare"]),
        ("fsnn-compare", fsnn_compare, [str(results), "--model", str(model), "--report", str(report)]),
    ]
    for position, (name, command, arguments) in enumerate(steps):
        print(f"\n$ {name} {shlex.join(arguments)}")
        sys.stdout.flush()
        code = command(arguments)
        if code != 0:
            print(f"{name} ended with exit code {code}", file=sys.stderr)
            return code
        if position == 0:
            _show_convergence(model)
    return 0


def _prepared(out: Path) -> None:
    """Create `out` and remove the files of an earlier demo from it; all other files are kept."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / "train", ignore_errors=True)
    for name in ("net.h5", "results.h5", "report.html"):
        (out / name).unlink(missing_ok=True)


def _show_convergence(model: Path) -> None:
    """Print how ‖f(a[T]) − a[T]‖ falls with T (the paper's Fig. 2)."""
    import torch

    import fsnn_lava as fl
    from fsnn_lava.data import load

    net = fl.FSNN.load(model)
    images = torch.from_numpy(load("digits").test.batch(range(64)))
    print("\nThe rates approach the equilibrium as the number of steps grows (64 test images):")
    for steps in (5, 10, 20, 50, 100, 200):
        rates = net.simulate(images, steps=steps).rates[-1]
        mapped = net.rate_map(net.average(net.normalise(images), steps))(rates)[-1]
        residual = float((mapped - rates).flatten(1).norm(dim=1).mean().detach())
        print(f"  T = {steps:4d}   mean over images of ‖f(a) − a‖ = {residual:.4f}")


if __name__ == "__main__":
    sys.exit(main())
