"""Examples and notebooks run as they stand."""

import hashlib
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import fsnn_lava as fl
from fsnn_lava.models import find, shipped

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def run_script(*arguments, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, text=True, timeout=280)


def test_own_data_and_architecture_go_the_whole_way(tmp_path):
    done = run_script(EXAMPLES / "own_data.py", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PASS  emu" in done.stdout
    assert (tmp_path / "bars.h5").exists()


def test_event_input_is_compared(tmp_path):
    done = run_script(EXAMPLES / "event_input.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PASS  emu" in done.stdout


def test_results_are_read_again(tmp_path):
    done = run_script(EXAMPLES / "read_results.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "counts are those of before: True" in done.stdout


def test_the_convergence_plot_shows_if_falling_and_lif_bounded(tmp_path):
    done = run_script(EXAMPLES / "convergence.py", tmp_path / "picture.png", "--steps", "100", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    for line in done.stdout.splitlines():
        first, last = (float(part.split()[0]) for part in line.split(": ")[1:])
        assert last < (first / 5 if " IF " in line else first)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_are_committed_with_outputs(notebook):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    content = nbformat.read(notebook, as_version=4)
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    assert any(cell.outputs for cell in code), "run it and save it with its outputs"
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    nbclient.NotebookClient(content, timeout=180, resources={"metadata": {"path": str(EXAMPLES)}}).execute()


def test_shipped_networks_are_those_of_their_cards():
    names = shipped()
    assert {"digits", "fashion-mnist-if", "fashion-mnist-lif"} <= set(names)
    for name in names:
        folder = EXAMPLES / "models" / name
        card = (folder / "card.md").read_text()
        assert fl.ChipNetwork.load(find(name)).digest() in card
        assert hashlib.sha256((folder / "model.pt").read_bytes()).hexdigest() in card


def test_the_packaged_digits_network_is_the_one_in_the_examples():
    packaged = ROOT / "fsnn_lava" / "data" / "digits.h5"
    assert fl.ChipNetwork.load(packaged).digest() == fl.ChipNetwork.load(EXAMPLES / "models" / "digits" / "net.h5").digest()


def test_the_model_maker_measures_what_it_writes():
    make = runpy.run_path(str(EXAMPLES / "models" / "make.py"))
    from fsnn_lava.data import load

    net, chip = fl.FSNN.load(EXAMPLES / "models" / "digits" / "model.pt"), fl.ChipNetwork.load(find("digits"))
    figures = make["measure"](net, chip, load("digits"))
    card = (EXAMPLES / "models" / "digits" / "card.md").read_text()
    assert f"{figures['integer']:.2%}" in card
    assert figures["integer"] >= 0.97
