"""The whole procedure of deploy/README.md on the mock board: package locally, check and run on the board, compare locally."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fsnn_lava.backends.availability import missing_for_backend
from fsnn_lava.cli.compare import fsnn_compare
from fsnn_lava.cli.run import fsnn_run
from hw_tests.networks import with_synapse
from tests.backends.lava.loihi2.mock import mock_environment

pytestmark = pytest.mark.skipif(
    bool(missing_for_backend("sim")), reason=f"Lava cannot run here; missing: {'; '.join(missing_for_backend('sim'))}"
)


def in_the_cloud(job, *arguments):
    """Run run.sh of a package with the mock vendor's package, without this repository's code."""
    environment = mock_environment(PARTITION="oheogulch", PYTHON=sys.executable)
    environment["PYTHONPATH"] = environment["PYTHONPATH"].split(":")[1]
    return subprocess.run(
        ["sh", str(job / "run.sh"), *arguments], env=environment, cwd=job.parent, capture_output=True, text=True, timeout=250
    )


def test_package_check_run_and_compare(tmp_path, capsys):
    chip = with_synapse("conv")
    chip.save(tmp_path / "net.h5")
    values = np.random.default_rng(1).integers(0, 256, (2, *chip.input.shape), dtype=np.uint8)
    np.savez(tmp_path / "data.npz", x=values, y=np.array([0, 1]))
    job = tmp_path / "job"
    assert fsnn_run([str(tmp_path / "net.h5"), "--data", str(tmp_path / "data.npz"), "--package", str(job)]) == 0
    checked = in_the_cloud(job, "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "backend loihi2 has everything it needs here" in checked.stdout
    done = in_the_cloud(job)
    assert done.returncode == 0, done.stderr
    assert (job / "results.profile.json").is_file()
    capsys.readouterr()
    assert fsnn_compare([str(job / "results.h5")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("PASS  faithful")
    assert "loihi2 (stock): 2 samples" in said
    assert "charge is conserved exactly" in said
