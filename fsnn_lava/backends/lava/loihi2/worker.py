"""python -m fsnn_lava.backends.lava.loihi2.worker FOLDER: run the job in FOLDER on the board. Prints lines "sample k" and "note …"."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.loihi2.job_files import ChipJob, read_job, write_result
from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.errors import FsnnError
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result, concatenate_results

if TYPE_CHECKING:  # imports Lava
    from fsnn_lava.backends.lava.stock_delta_result import RecordedChanges
    from fsnn_lava.backends.lava.stock_result import Recorded

_STOP_LIMIT = 30  # seconds that the vendor's runtime may take to stop, once the results are written


def _main(folder: Path) -> int:
    """Run the worker process: read the job in `folder`, run it on the chip, and write its result."""
    require_lava()
    job, network, values = read_job(folder)
    try:
        _work(folder, job, network, values)
    except FsnnError as error:
        (folder / "error.json").write_text(json.dumps({"kind": type(error).__name__, "message": str(error)}), encoding="utf-8")
        return error.exit_code
    return 0


def _work(folder: Path, job: ChipJob, network: ChipNetwork, values: NDArray[np.uint8]) -> None:
    from fsnn_lava.backends.lava.loihi2.host import choose_host, open_host

    host = choose_host(partition=job.partition, board=job.board, address=job.address, generation=job.generation)
    open_host(host)
    from lava.magma.core.run_conditions import RunSteps
    from lava.proc import embedded_io

    from fsnn_lava.backends.lava.loihi2.delta_graph import ChipDeltaGraph
    from fsnn_lava.backends.lava.loihi2.graph import ChipGraph
    from fsnn_lava.backends.lava.loihi2.profile import make_profilers, measured_profile
    from fsnn_lava.backends.lava.loihi2.run_config import OnChip
    from fsnn_lava.backends.lava.quiet_logging import quiet_logging

    with quiet_logging():
        kind = ChipGraph if network.delta is None else ChipDeltaGraph
        graph = kind(network, embedded_io.spike, steps=job.steps)
    _say(f"note {host}: {graph.window}")
    profilers = make_profilers(graph.window.length * (len(values) + 1)) if job.profile else {}
    config = OnChip(callbacks=list(profilers.values()))

    def run(steps: int) -> None:
        graph.process.run(condition=RunSteps(num_steps=steps), run_cfg=config)

    graph.idle(run)
    results = []
    for number, sample in enumerate(values, start=1):
        start = time.perf_counter()
        recorded = graph.sample(sample, run)
        results.append(_result(network, sample, recorded, job, time.perf_counter() - start))
        _say(f"sample {number}")
    write_result(folder, concatenate_results(results))
    if job.profile:
        (folder / "profile.json").write_text(json.dumps({"host": str(host), **measured_profile(profilers)}), encoding="utf-8")
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))  # results are written; the parent ends a runtime that hangs
    signal.alarm(_STOP_LIMIT)
    graph.process.stop()
    signal.alarm(0)


def _result(network: ChipNetwork, sample: NDArray[np.uint8], recorded: Recorded | RecordedChanges, job: ChipJob, seconds: float) -> Result:
    from fsnn_lava.backends.lava.stock_delta_result import RecordedChanges, stock_delta_result
    from fsnn_lava.backends.lava.stock_result import stock_result

    if isinstance(recorded, RecordedChanges):
        found = stock_delta_result(network, sample[None], recorded, steps=job.steps, spikes=job.spikes, seconds=seconds)
    else:
        found = stock_result(network, sample[None], recorded, steps=job.steps, spikes=job.spikes, seconds=seconds)
    return replace(found, backend="loihi2")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    code = _main(Path(sys.argv[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # skips the exit handlers, in which a runtime that lost a process would wait forever
