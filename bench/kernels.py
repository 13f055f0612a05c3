"""Compare our own compiled code with the library call that could replace it, in one interleaved run.

    python bench/kernels.py [--rounds N] [--threads N]

sgd   a step of SGD with momentum: ours, torch with fused=True, torch with foreach=True
rows  sums of matrix rows: with LLVM vectors, with plain loops compiled by numba

Each line gives median milliseconds, and the ratio to ours, which comes first. As in the commands, idle threads go to sleep quickly.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from fsnn_lava.compiled.threads import let_idle_threads_sleep

let_idle_threads_sleep()  # before torch is imported

import numba  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

from fsnn_lava.compiled import row_loops, row_vectors, threads  # noqa: E402
from fsnn_lava.training.descent import descend  # noqa: E402

NETWORKS = {
    "64C5s (F64C5)": [(64, 1, 5, 5), (64,), (64,), (64, 64, 5, 5), (1,), (10, 12544), (10,)],
    "AlexNet-F": [(96, 3, 3, 3), (256, 96, 3, 3), (384, 256, 3, 3), (384, 384, 3, 3), (256, 384, 3, 3), (96, 256, 3, 3), (100, 4096)],
}


def measure(title: str, runs: dict[str, Callable[[], object]], rounds: int) -> None:
    """Print the median milliseconds of each over interleaved rounds, and the ratio to the first."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()  # compile, load and allocate
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ours = next(iter(medians.values()))
    print(f"{title:28}", "; ".join(f"{name} {1e3 * value:.3f} ms ({value / ours:.2f}x)" for name, value in medians.items()), flush=True)


def optimiser(shapes: list[tuple[int, ...]], *, fused: bool | None = None, foreach: bool | None = None) -> torch.optim.SGD:
    torch.manual_seed(0)
    weights = [torch.randn(shape).requires_grad_() for shape in shapes]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    return torch.optim.SGD(weights, lr=0.05, momentum=0.9, weight_decay=5e-4, fused=fused, foreach=foreach)


def compare_sgd(rounds: int) -> None:
    for name, shapes in NETWORKS.items():
        ours = optimiser(shapes)
        runs: dict[str, Callable[[], object]] = {"ours": lambda ours=ours: descend(ours)}  # type: ignore[misc]
        try:
            runs["fused"] = optimiser(shapes, fused=True).step
        except RuntimeError:
            print("torch has no fused SGD on the CPU")
        runs["foreach"] = optimiser(shapes, foreach=True).step
        measure(f"sgd, {name}", runs, rounds)


def row_sum(add: Callable[..., None], width: int, kind: Any = np.int32, stored: Any = np.int8, number: int = 400) -> Callable[[], None]:
    """Sum a hundred random rows, 100 times."""
    rng = np.random.default_rng(0)
    target, weight = np.zeros(width, kind), rng.integers(-9, 10, number * width).astype(stored)
    indices = np.sort(rng.choice(number, 100, replace=False)).astype(np.int32)

    @numba.njit
    def add_many(target: Any, weight: Any, indices: Any) -> None:
        for _ in range(100):
            add(target, np.int64(0), weight, np.int64(0), indices, np.int64(0), np.int64(len(indices)), np.int64(width))

    return lambda: add_many(target, weight, indices)


def compare_rows(rounds: int) -> None:
    for kind, stored in ((np.int32, np.int8), (np.float32, np.float32)):
        for width in (16, 64):
            runs = {"vectors": row_sum(row_vectors.adding(width), width, kind, stored)}
            runs["loops"] = row_sum(row_loops.adding(width), width, kind, stored)
            measure(f"rows, {np.dtype(stored)}, {width} targets", runs, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--threads", type=int, default=threads.thread_count())
    args = parser.parse_args()
    threads.set_thread_count(args.threads)
    print(f"torch {torch.__version__}, {args.threads} threads, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    compare_sgd(args.rounds)
    compare_rows(args.rounds)


if __name__ == "__main__":
    main()
