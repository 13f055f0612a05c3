"""Limited machines: the packaged network gives the same numbers, or the command says in one sentence why not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fsnn_lava.formats import results
from fsnn_lava.models.find import find_model
from tests.torture import OFTEN
from tests.torture.machines import FEW, MACHINES, Machine, a_jumping_clock, german, german_latin_1, no_avx, no_gpu_in_the_c_locale, start
from tests.torture.originals import ROOT

pytestmark = pytest.mark.timeout(1800)  # a busy machine is not a hang
RUN = ("run", "--limit", "4", "--no-compare", "--json", "--out", "results.h5")
EXACT = ("digest", "samples", "steps", "accuracy", "spikes_per_sample", "rates", "operations_per_sample", "updates_per_sample", "clips")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The numbers on an unrestricted machine."""
    done = start(Machine(), *RUN, "--backend", "emu", root=ROOT, cwd=tmp_path_factory.mktemp("good"))
    return {name: json.loads(done.stdout)[name] for name in EXACT}


def machine_of(make, folder: Path) -> Machine:
    (folder / "machine").mkdir()
    machine = make(folder / "machine")
    if machine.missing:
        pytest.skip(machine.missing)
    if machine.backend == "sim":
        pytest.importorskip("lava")
    return machine


@pytest.mark.parametrize("make", MACHINES if OFTEN else FEW, ids=lambda make: make.__name__)
def test_the_same_numbers_or_one_message(make, tmp_path, expected, record_property):
    machine = machine_of(make, tmp_path)
    done = start(machine, *RUN, "--backend", machine.backend, root=ROOT, cwd=tmp_path)
    assert "Traceback" not in done.stderr, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("fsnn-run: ") and " samples" not in line]
    record_property("outcome", "ran" if done.returncode == 0 else said[-1] if said else "")
    if done.returncode:
        assert done.returncode in (2, 3) and len(said) == 1, done.stderr
        return
    if done.stdout:
        found = json.loads(done.stdout)
        assert {name: found[name] for name in EXACT} == expected
    assert results.read_results(tmp_path / "results.h5").samples == 4


@pytest.mark.skipif(not OFTEN, reason="make torture trains on poor machines")
@pytest.mark.parametrize("make", [german, german_latin_1, no_avx, a_jumping_clock], ids=lambda make: make.__name__)
def test_training_export_and_comparison_work_there_too(make, tmp_path):
    machine = machine_of(make, tmp_path)
    small = ["epochs=2", "train_samples=64", "test_samples=32", "architecture=4C3s (F4C3)"]
    train = [
        "train",
        str(ROOT / "train/digits.toml"),
        "--out",
        "trained",
        "--threads",
        "1",
        *(w for value in small for w in ("--set", value)),
    ]
    for command in (train, ["export", "trained/last.pt", "net.h5", "--limit", "10"], ["run", "net.h5", "--backend", "emu", "--limit", "4"]):
        done = start(machine, *command, root=ROOT, cwd=tmp_path)
        assert done.returncode in ((0, 1) if command[0] == "run" else (0,)), done.stderr  # 1: a net of two epochs need not pass
        assert "Traceback" not in done.stderr
    records = [json.loads(line) for line in (tmp_path / "trained/log.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in records] == [1, 2]
    assert all(0 <= record["seconds"] < 10**6 for record in records)  # by the clock that only counts up


@pytest.mark.parametrize("make", [german_latin_1, no_gpu_in_the_c_locale], ids=lambda make: make.__name__)
def test_a_path_with_umlauts_and_spaces(make, tmp_path):
    """With letters that the locale does not have, or encodes differently."""
    folder = tmp_path / "Größe mit Leerzeichen"
    folder.mkdir()
    shutil.copy(find_model("digits"), folder / "Netz ä.h5")
    plain = machine_of(make, tmp_path)
    done = start(
        plain,
        "run",
        "Netz ä.h5",
        "--data",
        "digits",
        "--backend",
        "emu",
        "--limit",
        "4",
        "--json",
        "--out",
        "Lauf ö.h5",
        root=ROOT,
        cwd=folder,
    )
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
    assert json.loads(done.stdout)["samples"] == 4
    assert results.read_results(folder / "Lauf ö.h5").samples == 4


def test_without_compiled_kernels_it_says_why_instead_of_overflowing(tmp_path):
    done = start(Machine(environment={"NUMBA_DISABLE_JIT": "1"}), *RUN, "--backend", "emu", root=ROOT, cwd=tmp_path)
    assert done.returncode == 3
    assert "NUMBA_DISABLE_JIT is set" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_machine_without_avx_really_has_none(tmp_path):
    """The libraries themselves say which instructions they use."""
    machine = no_avx(tmp_path)
    code = (
        "import torch, numpy as np, numba; "
        "core = (getattr(np, '_core', None) or np.core)._multiarray_umath; "
        "features = numba.core.registry.cpu_target.target_context.codegen()._tm_features; "
        "print(torch.backends.cpu.get_cpu_capability() in ('NO AVX', 'DEFAULT'), '+avx' in features, "
        "[name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]])"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **machine.environment}, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False", "[]"], done.stdout + done.stderr
