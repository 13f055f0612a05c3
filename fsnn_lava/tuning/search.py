"""Search: try all candidates in several processes; the outcome does not depend on their number or the order in which they finish."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing

from fsnn_lava.compiled.threads import set_thread_count
from fsnn_lava.errors import BackendFailed
from fsnn_lava.tuning.bench import Bench
from fsnn_lava.tuning.candidate import Candidate
from fsnn_lava.tuning.journal import TuningJournal
from fsnn_lava.tuning.trial import Trial

_BENCH: list[Bench] = []  # this process's bench


def search(
    bench: Bench,
    wanted: Sequence[Candidate],
    journal: TuningJournal,
    *,
    processes: int,
    resume: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Trial]:
    """Search: run one trial per candidate, and return them in order; `progress` is called with the trials done and their total."""
    kept = {trial.candidate: trial for trial in journal.open(resume=resume)}
    left = [candidate for candidate in wanted if candidate not in kept]
    progress(len(wanted) - len(left), len(wanted))
    with closing(_in_turn(bench, left) if processes == 1 else _in_processes(bench, left, processes)) as trials:
        for trial in trials:
            journal.add(trial)
            kept[trial.candidate] = trial
            progress(len(kept), len(wanted))
    return [kept[candidate] for candidate in wanted]


def _in_turn(bench: Bench, left: Sequence[Candidate]) -> Generator[Trial, None, None]:
    return (bench.try_out(candidate) for candidate in left)


def _in_processes(bench: Bench, left: Sequence[Candidate], processes: int) -> Generator[Trial, None, None]:
    """Yield trials as they finish. Closing the generator also ends the processes."""
    context = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(min(processes, max(1, len(left))), mp_context=context, initializer=_start, initargs=(bench,))
    try:
        for future in as_completed([pool.submit(_try_out, candidate) for candidate in left]):
            yield future.result()
    except (BrokenProcessPool, BrokenPipeError) as error:
        raise BackendFailed("a process of the search died (out of memory?); continue with --resume and fewer --processes") from error
    except BaseException:  # also if the generator is closed early: do not wait for the trials under way
        for child in (one for one in multiprocessing.active_children() if one not in others):
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start(bench: Bench) -> None:
    """Prepare a process: one thread, and Ctrl-C left to the first process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_thread_count(1)
    _BENCH[:] = [bench]


def _try_out(candidate: Candidate) -> Trial:
    return _BENCH[0].try_out(candidate)
