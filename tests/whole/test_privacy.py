"""Nothing leaves the machine and no secret from the environment is written to a file, from training to report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECRET = "hunter2-correct-horse-battery"
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "API_TOKEN": SECRET,
    "PASSWORD": SECRET,
    "GIT_ASKPASS_SECRET": SECRET,
    "HTTPS_PROXY": f"http://user:{SECRET}@127.0.0.1:9",
}
SMALL = ["epochs=1", "train_samples=64", "test_samples=32", "architecture=4C3s (F4C3)"]

WATCHED = f"""
import json, socket, sys
seen = []
def hook(event, arguments):
    if event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.")):
        local = event.startswith("socket.") and arguments and getattr(arguments[0], "family", None) == socket.AF_UNIX
        if event == "socket.__new__":
            local = arguments[1] == socket.AF_UNIX
        if not local and event != "socket.gethostname":
            seen.append([event, str(arguments[1:])])
sys.addaudithook(hook)
import fsnn_lava
from fsnn_lava.cli.compare import fsnn_compare
from fsnn_lava.cli.doctor import fsnn_doctor
from fsnn_lava.cli.export import fsnn_export
from fsnn_lava.cli.map import fsnn_map
from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.cli.train import fsnn_train
small = [word for value in {SMALL!r} for word in ("--set", value)]
codes = {{
    "train": fsnn_train(["{ROOT}/train/digits.toml", "--out", "trained", "--threads", "1", *small]),
    "export": fsnn_export(["trained/best.pt", "net.h5", "--limit", "10"]),
    "run": fsnn_run(["net.h5", "--backend", "emu", "--data", "digits", "--limit", "8", "--out", "results.h5", "--report", "run.html"]),
    "compare": fsnn_compare(["results.h5", "--model", "trained/best.pt", "--report", "compare.html"]),
    "map": fsnn_map(["net.h5"]),
    "doctor": fsnn_doctor([]),
}}
print("WATCHED", json.dumps([codes, seen]))
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Run the whole pipeline in one process that records every socket; return folder, output, exit codes and sockets."""
    folder = tmp_path_factory.mktemp("watched")
    environment = {**os.environ, **SECRETS, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", WATCHED], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    codes, seen = json.loads(done.stdout.rpartition("WATCHED ")[2])
    return folder, done.stdout + done.stderr, codes, seen


def test_the_pipeline_ran(watched):
    folder, _, codes, _ = watched
    assert {name: code for name, code in codes.items() if code not in (0, 1)} == {}  # 1: a net of one epoch need not pass the comparator
    assert {"net.h5", "results.h5", "run.html", "compare.html", "trained"} <= {path.name for path in folder.iterdir()}


def test_no_socket_is_opened_and_nothing_is_asked_of_the_network(watched):
    assert watched[3] == []


def test_no_secret_of_the_environment_is_printed_or_written(watched):
    folder, printed, _, _ = watched
    assert SECRET not in printed
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) >= 8
    assert [path.name for path in files if SECRET.encode() in path.read_bytes()] == []


def test_the_watch_would_notice(tmp_path):
    watch = WATCHED.partition("import fsnn_lava\n")[0]
    code = watch + "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()\nsocket.socket(socket.AF_UNIX).close()\nprint(len(seen))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "1", done.stderr
