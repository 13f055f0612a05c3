"""Compare this checkout with an older one: do the same networks come out, bit for bit, and at the same speed?

    python bench/versions.py OLDER_CHECKOUT [--rounds N] [--json FILE]

Two processes, one per checkout, take turns at the same jobs: iterations of training, quantisation, and runs on the emulator. Each job also
gives a digest of its outcome (gradients, integers, spikes), which must be equal. Times are processor seconds on one thread; the ratio is
the median over the rounds, followed by its quartiles. The exit code is 1 if a digest differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import fsnn_lava as fl

HERE = Path(__file__).resolve()
Job = Callable[[], bytes]
TRAINING = {  # input shape, steps, batch
    "400 (F400)": ((784,), 5, 128),
    "64C5s (F64C5)": ((1, 28, 28), 30, 16),
    "24C3s-32C3s-24C3 (F24C3u)": ((3, 16, 16), 10, 16),
}
MODELS = {"digits": 256, "fashion-mnist-if": 256, "mnist": 16}  # examples/models of the older checkout, read by both; samples per run


def network(architecture: str, shape: tuple[int, ...], steps: int) -> fl.FSNN:
    torch.manual_seed(0)
    return fl.FSNN(architecture, input_shape=shape, classes=10, neuron=fl.LIF(0.95), vth=1.0, steps=steps, dropout=0.0)


def training(architecture: str, shape: tuple[int, ...], steps: int, batch: int) -> Job:
    """An iteration of training without the update, so that every round does the same; its digest is that of all gradients."""
    net = network(architecture, shape, steps)
    images, labels = torch.rand(batch, *shape), torch.arange(batch) % 10

    def job() -> bytes:
        net.zero_grad()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        return b"".join(weight.grad.numpy().tobytes() for weight in net.parameters() if weight.grad is not None)

    return job


def emulation(model: Path, samples: int) -> Job:
    """A run of a trained network on the emulator; its digest is that of the integer network and of all spike counts."""
    net = fl.FSNN.load(model).eval()
    values = np.random.default_rng(0).integers(0, 256, (samples, *net.architecture.input_shape), dtype=np.uint8)
    chip = fl.quantise(net, calibration=values[:32])

    def job() -> bytes:
        result = fl.run(chip, values, backend="emu")
        return chip.digest().encode() + b"".join(np.ascontiguousarray(counts).tobytes() for counts in result.counts)

    return job


def make_jobs(models: Path) -> dict[str, Job]:
    jobs = {f"train {architecture}": training(architecture, *form) for architecture, form in TRAINING.items()}
    return jobs | {f"run {name}": emulation(models / name / "model.pt", samples) for name, samples in MODELS.items()}


def work(models: Path) -> None:
    """The worker: for each name read from standard input, do that job and print its processor seconds and its digest."""
    torch.set_num_threads(1)
    jobs = make_jobs(models)
    for job in jobs.values():
        job()
    for line in sys.stdin:
        began = time.process_time()
        outcome = jobs[line.strip()]()
        print(time.process_time() - began, hashlib.sha256(outcome).hexdigest(), flush=True)


def worker(checkout: Path, models: Path) -> subprocess.Popen[str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": str(checkout)}
    command = [sys.executable, str(HERE), "--work", str(models)]
    return subprocess.Popen(command, cwd=checkout, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen[str], name: str) -> tuple[float, str]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    answer = process.stdout.readline().split()
    if not answer:
        sys.exit("bench/versions.py: a worker ended early; its error is above")
    return float(answer[0]), answer[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("older", type=Path, help="a checkout of the older version")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)  # a worker, started below
    args = parser.parse_args()
    if args.work:
        work(args.older)
        return 0
    models = args.older.resolve() / "examples" / "models"
    processes = {"old": worker(args.older.resolve(), models), "new": worker(HERE.parents[1], models)}
    table, equal = [], True
    for name in (*(f"train {each}" for each in TRAINING), *(f"run {each}" for each in MODELS)):
        times: dict[str, list[float]] = {"old": [], "new": []}
        digests: dict[str, list[str]] = {"old": [], "new": []}
        for turn in range(args.rounds):
            for key in ("old", "new")[:: 1 if turn % 2 else -1]:
                seconds, digest = ask(processes[key], name)
                times[key].append(seconds)
                digests[key].append(digest)
        medians = {key: statistics.median(values) for key, values in times.items()}
        pairs = [new / old for old, new in zip(times["old"], times["new"], strict=True)]
        quartiles = statistics.quantiles(pairs, n=4)
        row = {
            "job": name,
            **medians,
            "ratio": statistics.median(pairs),
            "quartiles": quartiles[::2],
            "equal": digests["old"] == digests["new"],
        }
        equal = equal and digests["old"] == digests["new"]
        table.append(row)
        said = f"{row['ratio']:.3f} ({quartiles[0]:.3f} to {quartiles[2]:.3f}), {'equal' if row['equal'] else 'DIFFERENT'}"
        print(f"{name:32} old {1e3 * medians['old']:8.2f} ms, new {1e3 * medians['new']:8.2f} ms, new / old {said}", flush=True)
    for process in processes.values():
        process.communicate()
    if args.json:
        args.json.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
