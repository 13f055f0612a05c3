"""Kills writers while they write, and looks at what they left: the old file or the new one, and a run that goes on to the same bits.

python -m tests.torture.kill_cases WRITES COMMANDS     prints, for every kind, how many were killed and how many of them during a write

The process is warm (everything imported and compiled) and is forked for every kill. The child tells its parent when it has reached one
of its writes, chosen at random. In two of three kills it then waits there to be killed, once with a new temporary file, once with a
complete one that is about to be renamed; in the third it goes on, and the parent waits a random part of the time a write takes. What the
child leaves shows whether the kill came during a write: the temporary file is still there.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from fsnn_lava.cli.export import fsnn_export
from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.cli.train import fsnn_train
from fsnn_lava.errors import BadFile
from fsnn_lava.files.torch_archive import unpack_torch_archive
from fsnn_lava.formats import model, netx, results
from fsnn_lava.nn.fsnn import FSNN
from tests.helpers.chip_networks import conv_network
from tests.torture.originals import ROOT

PATIENCE = 300.0  # seconds that a child may take before its first write
PLACES = ("made", "complete", None)  # where in a write the child waits to be killed; None: it does not wait


@dataclass
class Killer:
    """Kills at chosen moments; keeps count, and how long to wait so that about half of the kills of a child that goes on hit a write."""

    folder: Path
    random: Random
    tries: int = 0
    kills: int = 0
    held: int = 0  # the child waited in the middle of a write
    inside: int = 0  # a temporary file was left: the kill came between its making and its renaming
    finished: int = 0  # the child was done before the kill
    window: float = 0.01
    files: set[str] = field(default_factory=set)  # whose writing was hit

    def kill(self, action: Callable[[], object], *, latest: int) -> bool:
        """Run `action` in a child and kill it at one of its first `latest` writes; whether it was killed before its end."""
        reader, writer = os.pipe()
        place = PLACES[self.tries % len(PLACES)]
        self.tries += 1
        child = os.fork()
        if child == 0:
            _perform(action, writer, self.random.randint(1, latest), place)
        os.close(writer)
        self.random.random()  # the child drew from a copy of the generator: move on
        ready, _, _ = select.select([reader], [], [], PATIENCE)
        began = bool(ready) and os.read(reader, 1) == b"w"
        if began and place is None:
            time.sleep(self.random.uniform(0, self.window))
        os.kill(child, signal.SIGKILL)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        os.close(reader)
        left = [path for path in self.folder.rglob(".*.part") if path.is_file()]
        for path in left:
            name = ".".join(path.name.split(".")[1:3])
            self.files.add("batches" if name[0].isdigit() else name)
            path.unlink()
        self.kills += killed
        self.held += began and place is not None
        self.inside += bool(left)
        self.finished += not killed
        if began and place is None:
            self.window = min(2.0, max(0.0005, self.window * (1.2 if left else 0.8)))
        return killed

    def count(self) -> dict[str, Any]:
        return {"kills": self.kills, "held": self.held, "during a write": self.inside, "files": sorted(self.files)}


def _perform(action: Callable[[], object], writer: int, moment: int, place: str | None = None) -> None:
    """In the child: tell the parent at write number `moment`, and wait in it if there is a `place`."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    make, rename, writes, parent = tempfile.mkstemp, os.replace, 0, os.getppid()

    def tell() -> None:
        os.write(writer, b"w")
        while place is not None and os.getppid() == parent:
            time.sleep(0.01)

    def noticed(*arguments: Any, **options: Any) -> Any:
        nonlocal writes
        if os.getppid() != parent:  # it was ended itself: nobody is left to kill us
            os._exit(0)
        made, writes = make(*arguments, **options), writes + 1
        if writes == moment and place != "complete":
            tell()
        return made

    def renamed(*arguments: Any, **options: Any) -> None:
        if writes >= moment and place == "complete":
            tell()
        rename(*arguments, **options)

    tempfile.mkstemp, os.replace = noticed, renamed
    try:
        action()
    finally:
        os._exit(0)


def quietly(action: Callable[[], object]) -> None:
    """To its end, without a word."""
    child = os.fork()
    if child == 0:
        _perform(action, os.open(os.devnull, os.O_WRONLY), 0)
    os.waitpid(child, 0)


def expect(found: object, allowed: set[Any], what: str) -> None:
    if found not in allowed:
        raise SystemExit(f"{what}: neither the old file nor the new one: {found}")


def written_over(folder: Path, kills: int) -> dict[str, Any]:
    """Loops that write one network, then the other, in the same place."""
    net, pt = folder / "net.h5", folder / "model.pt"
    chips, nets = [conv_network(1), conv_network(2)], [small_net(1), small_net(2)]
    netx.write_netx(chips[0], net)
    model.write_model(nets[0], pt)
    sums = {float(one.readout.weight.sum()) for one in nets}

    def for_ever(write: Callable[[Any, Path], None], things: list[Any], path: Path) -> Callable[[], None]:
        def loop() -> None:
            while True:
                for thing in things:
                    write(thing, path)

        return loop

    counts = {}
    for name, action, check in (
        (
            "net.h5",
            for_ever(netx.write_netx, chips, net),
            lambda: expect(netx.read_netx(net).digest(), {c.digest() for c in chips}, "net.h5"),
        ),
        (
            "model.pt",
            for_ever(model.write_model, nets, pt),
            lambda: expect(float(model.read_model(pt).readout.weight.sum()), sums, "model.pt"),
        ),
    ):
        killer = Killer(folder, Random(7))
        for _ in range(kills):
            killer.kill(action, latest=9)
            check()
        counts[f"write {name}"] = killer.count()
    return counts


def small_net(seed: int) -> FSNN:
    torch.manual_seed(seed)
    net = FSNN("6C3s (F6C3)", input_shape=(1, 8, 8), classes=10, steps=10).eval()
    net.metrics = {"data": "digits"}
    return net


def exported(folder: Path, kills: int) -> dict[str, Any]:
    """fsnn-export over a network that is there."""
    pt, net = folder / "m.pt", folder / "n.h5"
    model.write_model(small_net(3), pt)
    old = conv_network(3)
    action = lambda: fsnn_export([str(pt), str(net), "--limit", "10"])  # noqa: E731
    quietly(action)
    new = netx.read_netx(net).digest()
    netx.write_netx(old, net)
    killer = Killer(folder, Random(8))
    while killer.kills < kills:
        killer.kill(action, latest=1)
        expect(netx.read_netx(net).digest(), {old.digest(), new}, "fsnn-export")
        if netx.read_netx(net).digest() == new:
            netx.write_netx(old, net)
    return {"fsnn-export": killer.count()}


def ran(folder: Path, kills: int) -> dict[str, Any]:
    """fsnn-run over results that are there; killed, it is resumed, killed again, and comes to the same results in the end."""
    out, whole = folder / "r.h5", folder / "whole.h5"
    arguments = ["digits", "--backend", "emu", "--no-compare", "--batch", "5"]
    quietly(lambda: fsnn_run([*arguments, "--limit", "20", "--out", str(out)]))
    quietly(lambda: fsnn_run([*arguments, "--limit", "60", "--out", str(whole)]))
    old = out.read_bytes()
    killer, ends = Killer(folder, Random(9)), 0
    while killer.kills < kills:
        again = ["--resume"] if (folder / "r.h5.part").exists() else []
        action = lambda: fsnn_run([*arguments, "--limit", "60", "--out", str(out), *again])  # noqa: B023, E731
        killer.kill(action, latest=4)
        samples = results.read_results(out).samples
        expect(samples, {20, 60}, "fsnn-run")
        if samples == 20:
            expect(out.read_bytes() == old, {True}, "fsnn-run")
        else:
            same_results(out, whole)
            ends += 1
            quietly(lambda: fsnn_run([*arguments, "--limit", "60", "--out", str(out), "--resume"]))  # what is kept was not yet discarded
            out.write_bytes(old)
    return {"fsnn-run": {**killer.count(), "ran to completion": ends}}


def same_results(path: Path, whole: Path) -> None:
    """Every number that was found about every sample."""
    found, expected = results.read_results(path), results.read_results(whole)
    for name, column in expected.rows.items():
        np.testing.assert_array_equal(found.rows[name], column, err_msg=name)
    for mine, other in zip(found.result.potentials, expected.result.potentials, strict=True):
        np.testing.assert_array_equal(mine, other)


def trained(folder: Path, kills: int) -> dict[str, Any]:
    """fsnn-train, killed and resumed until it is done, comes to the bits of a training that nobody disturbed."""
    small = ["train_samples=64", "test_samples=32", "architecture=4C3s (F4C3)", f"epochs={max(4, kills // 2)}"]
    recipe = [str(ROOT / "train/digits.toml"), "--threads", "1", *(word for value in small for word in ("--set", value))]
    whole, cut = folder / "whole", folder / "cut"
    quietly(lambda: fsnn_train([*recipe, "--out", str(whole)]))
    killer, ends = Killer(folder, Random(10)), 0
    while killer.kills < kills:
        resume = ["--resume"] if (cut / "state.pt").exists() else []
        done = not killer.kill(lambda: fsnn_train([*recipe, "--out", str(cut), *resume]), latest=7)  # noqa: B023
        for name in ("state.pt", "last.pt", "best.pt"):
            if (cut / name).exists():
                unpack_torch_archive(cut / name, what=name)
        if done:
            same_training(cut, whole)
            ends += 1
            for path in cut.iterdir():
                path.unlink()
    quietly(lambda: fsnn_train([*recipe, "--out", str(cut), *(["--resume"] if (cut / "state.pt").exists() else [])]))
    same_training(cut, whole)
    return {"fsnn-train": {**killer.count(), "ran to completion": ends + 1}}


def same_training(cut: Path, whole: Path) -> None:
    for name in ("last.pt", "best.pt"):
        found, expected = (unpack_torch_archive(folder / name, what=name)["state"] for folder in (cut, whole))
        if not all(torch.equal(found[key], expected[key]) for key in expected):
            raise SystemExit(f"fsnn-train: {name} has other bits than that of a training without a kill")


def main(writes: int, commands: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"  # no threads: they do not survive a fork
    counts: dict[str, Any] = {}
    for part, kills in ((written_over, writes), (exported, commands), (ran, commands), (trained, commands)):
        with tempfile.TemporaryDirectory() as name:
            try:
                counts |= part(Path(name), kills)
            except BadFile as error:
                raise SystemExit(f"a file was left that cannot be read: {error}") from error
    return counts


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
