"""Kills writers at random moments and looks at what they left: the old file or the new one.

python -m tests.torture.kill_cases WRITES COMMANDS     prints the number of kills of each kind, or what was found half written
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import torch

from fsnn_lava.cli import export, run, train
from fsnn_lava.formats import model, netx, results
from fsnn_lava.network import FSNN
from tests.chip_networks import conv_network
from tests.torture.originals import ROOT

Check = Callable[[], None]
FULL_WRITE, FULL_COMMAND = 0.03, 8.0  # seconds, the longest wait before the kill


def in_child(action: Callable[[], object], seconds: float | None = None) -> bool:
    """Run `action` in a process of its own, killed after so many seconds; whether it had to be."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            action()
        finally:
            os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main(writes: int, commands: int) -> dict[str, int]:
    torch.set_num_threads(1)
    random, kills = Random(7), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, action, check in _writers(folder):
            for _ in range(writes):
                kills[f"write {what}"] += in_child(action, random.uniform(0, FULL_WRITE))
                check()
        for what, action, check in _commands(folder):
            for _ in range(commands):
                kills[f"command {what}"] += in_child(action, random.uniform(0, FULL_COMMAND))
                check()
    return dict(kills)


def _forever(*actions: Callable[[], None]) -> Callable[[], None]:
    def loop() -> None:
        while True:
            for action in actions:
                action()

    return loop


def _one_of(found: object, allowed: set[object]) -> None:
    if found not in allowed:
        raise SystemExit(f"neither the old file nor the new one: {found}")


def _writers(folder: Path) -> list[tuple[str, Callable[[], None], Check]]:
    """Loops that write one file and then the other, in the same place."""
    net, pt = folder / "net.h5", folder / "model.pt"
    chips, nets = [conv_network(1), conv_network(2)], [_model(1), _model(2)]
    netx.write(chips[0], net)
    model.write(nets[0], pt)
    sums = {float(n.readout.weight.sum()) for n in nets}
    digests = {chip.digest() for chip in chips}
    write_chips = _forever(*(lambda c=c: netx.write(c, net) for c in chips))  # type: ignore[misc]
    write_nets = _forever(*(lambda n=n: model.write(n, pt) for n in nets))  # type: ignore[misc]
    return [
        ("net.h5", write_chips, lambda: _one_of(netx.read(net).digest(), digests)),
        ("model.pt", write_nets, lambda: _one_of(float(model.read(pt).readout.weight.sum()), sums)),
    ]


def _model(seed: int) -> FSNN:
    torch.manual_seed(seed)
    net = FSNN("6C3s (F6C3)", input_shape=(1, 8, 8), classes=10, steps=10).eval()
    net.metrics = {"data": "digits"}
    return net


def _commands(folder: Path) -> list[tuple[str, Callable[[], object], Check]]:
    """The commands themselves, over a file that is there; it must be the old one or the one that the whole command writes."""
    pt, net, out, train_folder = folder / "m.pt", folder / "n.h5", folder / "r.h5", folder / "training"
    model.write(_model(3), pt)
    netx.write(conv_network(3), net)

    def exported() -> None:
        _one_of(netx.read(net).layers[0].shape, {conv_network(3).layers[0].shape, (6, 4, 4), (6, 8, 8)})

    def trained() -> None:
        for file in (train_folder / "best.pt", train_folder / "last.pt"):
            if file.exists():
                model.read(file)
        if (train_folder / "state.pt").exists():
            torch.load(train_folder / "state.pt", weights_only=True)

    small = [
        "--set",
        "epochs=500",
        "--set",
        "train_samples=64",
        "--set",
        "test_samples=32",
        "--set",
        "architecture=4C3s (F4C3)",
        "--threads",
        "1",
    ]
    recipe = [str(ROOT / "train/digits.toml"), "--out", str(train_folder), *small]
    run_arguments = ["digits", "--backend", "emu", "--no-compare", "--out", str(out)]
    in_child(lambda: run.main([*run_arguments, "--limit", "20"]))
    return [
        ("fsnn-export", lambda: export.main([str(pt), str(net), "--limit", "20"]), exported),
        ("fsnn-run", lambda: run.main([*run_arguments, "--limit", "60"]), lambda: _one_of(results.read(out).samples, {20, 60})),
        ("fsnn-train", lambda: train.main([*recipe, *(["--resume"] if (train_folder / "state.pt").exists() else [])]), trained),
    ]


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
