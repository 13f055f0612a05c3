"""The job itself, in a process of its own: python -m fsnn_lava.backends.lava.loihi2.worker FOLDER. Prints lines "sample k", "note …"."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from fsnn_lava.backends.lava.loihi2.job import ChipJob, read_job, write_result
from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.errors import FsnnError
from fsnn_lava.ir.result import Result, concatenate

_STOP_LIMIT = 30  # seconds that the vendor's runtime may take to stop, once the results are written


def main(folder: Path) -> int:
    require_lava()
    job, network, values = read_job(folder)
    try:
        _work(folder, job, network, values)
    except FsnnError as error:
        (folder / "error.json").write_text(json.dumps({"kind": type(error).__name__, "message": str(error)}), encoding="utf-8")
        return error.exit_code
    return 0


def _work(folder: Path, job: ChipJob, network: Any, values: Any) -> None:
    from fsnn_lava.backends.lava.loihi2.host import choose_host, open_host

    host = choose_host(partition=job.partition, board=job.board, address=job.address, generation=job.generation)
    open_host(host)
    from lava.magma.core.run_conditions import RunSteps
    from lava.proc import embedded_io

    from fsnn_lava.backends.lava.loihi2.config import OnChip
    from fsnn_lava.backends.lava.loihi2.graph import ChipGraph
    from fsnn_lava.backends.lava.loihi2.profile import make_profilers, measured
    from fsnn_lava.backends.lava.selection import quiet_logging

    with quiet_logging():
        graph = ChipGraph(network, embedded_io.spike, steps=job.steps)
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
    write_result(folder, concatenate(results))
    if job.profile:
        (folder / "profile.json").write_text(json.dumps({"host": str(host), **measured(profilers)}), encoding="utf-8")
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))  # the results are there: a runtime that does not stop is left to the parent
    signal.alarm(_STOP_LIMIT)
    graph.process.stop()
    signal.alarm(0)


def _result(network: Any, sample: Any, recorded: Any, job: ChipJob, seconds: float) -> Result:
    from fsnn_lava.backends.lava.stock_result import stock_result

    found = stock_result(network, sample[None], recorded, steps=job.steps, spikes=job.spikes, seconds=seconds)
    return replace(found, backend="loihi2")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    code = main(Path(sys.argv[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # not through the exit handlers: a runtime that lost a process would wait there for ever
