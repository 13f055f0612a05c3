"""Many processes train one network: the same steps as one process with the joint batch."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.coupling import WHOLE_BATCH
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.training.augmentation import augmented
from fsnn_lava.training.distributed import DistributedCoupling, distributed_batch_norm, distributed_coupling
from fsnn_lava.training.log import read_log
from fsnn_lava.training.loop import TrainingLoop, train
from fsnn_lava.training.process_group import ProcessGroup, process_group
from fsnn_lava.training.processes import Processes
from fsnn_lava.training.progress import TrainingProgress
from fsnn_lava.training.random_streams import generator
from fsnn_lava.training.recipe import Recipe, parse_recipe
from fsnn_lava.training.samples import load_samples

ROOT = Path(__file__).parents[2]
QUIET = TrainingProgress(quiet=True)


def small(**changes: object) -> Recipe:
    table = {
        "data": "digits",
        "architecture": "5C3-6C3s (F5C3u)",
        "neuron": "if",
        "steps": 6,
        "epochs": 1,
        "batch": 31,
        "train_samples": 150,
        "test_samples": 40,
        "dropout": 0.2,
        "solver": {"tol": 1e-5},
    }
    return parse_recipe({**table, **changes})


def start(recipe: Path, folder: Path, *, size: int) -> list[subprocess.Popen[str]]:
    """What torchrun does: one process per rank, told about the others by the environment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, "-m", "fsnn_lava.cli.train", str(recipe), "--out", str(folder)]
    return [
        subprocess.Popen(command, env={**common, "WORLD_SIZE": str(size), "RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
        for rank in range(size)
    ]


def test_two_processes_make_the_steps_of_one_with_the_joint_batch(tmp_path):
    recipe = small()
    (tmp_path / "small.toml").write_text(recipe.to_toml())
    processes = start(tmp_path / "small.toml", tmp_path / "two", size=2)
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert errors[1] == "", "the second process is silent"
    train(recipe, load_samples(recipe), tmp_path / "one", progress=QUIET)
    one, two = (read_log(tmp_path / name)[0] for name in ("one", "two"))
    # Sums in another order change a float32 by about 1e-7 of its size (that is what is seen here). Should this move a spike over the
    # threshold, one sample's rate changes by 1/T and its logits by 0.1/T: 0.1 / 6 / 150 of the mean loss, 0.05 * 0.1 / 6 / 31 per step
    # and weight. Batch statistics or masks of one share alone are off by 1e-2.
    assert two["loss"] == pytest.approx(one["loss"], abs=2e-4)
    weights = [FSNN.load(tmp_path / name / "last.pt").state_dict() for name in ("one", "two")]
    for key, value in weights[0].items():
        torch.testing.assert_close(weights[1][key], value, rtol=0, atol=5e-4, msg=lambda text, key=key: f"{key}: {text}")


def test_a_process_that_dies_ends_the_job_with_a_message_and_a_checkpoint(tmp_path):
    recipe = small(architecture="12 (F12)", epochs=100000)
    (tmp_path / "small.toml").write_text(recipe.to_toml())
    first, second = start(tmp_path / "small.toml", tmp_path / "run", size=2)
    while not (tmp_path / "run/log.jsonl").exists() and first.poll() is None:
        time.sleep(0.02)
    second.send_signal(signal.SIGKILL)
    second.communicate()
    last = first.communicate()[1].splitlines()[-1]
    assert first.returncode == 1
    assert last.startswith("fsnn-train: another process of this job has died (in epoch ")
    assert "restart with --resume" in last
    done = torch.load(tmp_path / "run/state.pt", weights_only=True)["epoch"]
    assert f"the checkpoint of epoch {done} is kept in {tmp_path / 'run'}" in last
    short = small(architecture="12 (F12)", epochs=done + 1)
    assert train(short, load_samples(short), tmp_path / "run", resume=True, progress=QUIET).epochs == done + 1


@pytest.mark.parametrize("shape", [(7, 3), (4, 3, 5, 2)])
def test_joint_batch_norm_alone_is_batch_norm(shape):
    torch.manual_seed(0)
    plain = (nn.BatchNorm1d(3) if len(shape) == 2 else nn.BatchNorm2d(3)).double()
    with torch.no_grad():
        plain.weight.copy_(torch.tensor([0.5, -1.0, 2.0]))
        plain.bias.copy_(torch.tensor([0.1, 0.2, -0.3]))
    other = type(plain)(3).double()
    other.load_state_dict(plain.state_dict())
    values = (3.0 * torch.randn(shape, dtype=torch.float64) + 1.0).requires_grad_()
    mirror = values.detach().clone().requires_grad_()
    seed = torch.randn(shape, dtype=torch.float64)
    plain(values).backward(seed)
    distributed_batch_norm(other, mirror, ProcessGroup()).backward(seed)
    for one, two in [(values.grad, mirror.grad), (plain.weight.grad, other.weight.grad), (plain.bias.grad, other.bias.grad)]:
        torch.testing.assert_close(two, one, rtol=1e-12, atol=1e-12)
    for key, value in plain.state_dict().items():
        torch.testing.assert_close(other.state_dict()[key], value, rtol=1e-12, atol=1e-12)


def test_masks_and_crops_of_a_share_are_those_of_the_joint_batch():
    net = FSNN("5C3-6C3s (F5C3u)", input_shape=(1, 8, 8), classes=10, dropout=0.3)
    like = torch.zeros(1)
    torch.manual_seed(4)
    whole = net._masks(9, like)
    images = torch.randint(0, 255, (9, 3, 8, 8), dtype=torch.uint8)
    cropped = augmented(images, generator(2, 7), margin=4, flip=True)
    for rank in range(2):
        group = ProcessGroup(Processes(rank, 2))
        mine = group.share(9)
        torch.manual_seed(4)
        masks = net._masks(len(range(9)[mine]), like, DistributedCoupling(group, 9))
        assert whole.feedback is not None
        assert torch.equal(masks.feedback, whole.feedback[mine])
        assert all(torch.equal(part, mask[mine]) for part, mask in zip(masks.stages, whole.stages, strict=True))
        assert torch.equal(augmented(images[mine], generator(2, 7), margin=4, flip=True, samples=9, mine=mine), cropped[mine])


def test_every_process_needs_a_sample_of_every_batch(tmp_path):
    recipe = small(train_samples=150, batch=37)  # 150 = 4 * 37 + 2
    with pytest.raises(BadArgument, match="a batch of 2 samples cannot be divided among 3 processes"):
        TrainingLoop(recipe, load_samples(recipe), tmp_path, QUIET, ProcessGroup(Processes(0, 3)))


def test_a_process_alone_is_coupled_to_nobody():
    assert distributed_coupling(ProcessGroup(), 8) is WHOLE_BATCH


def test_processes_that_cannot_find_each_other_are_refused(launcher):
    launcher({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"})
    with pytest.raises(BadArgument, match="2 processes were started, but MASTER_ADDR and MASTER_PORT"), process_group():
        pass


@pytest.fixture
def launcher(monkeypatch):
    """Set the environment that a launcher would set, without anything from the real one."""

    def set_environment(values: dict[str, str]) -> None:
        for name in list(os.environ):
            if name.startswith(("SLURM_", "TORCHELASTIC_", "MASTER_")) or name in ("RANK", "WORLD_SIZE"):
                monkeypatch.delenv(name)
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return set_environment
