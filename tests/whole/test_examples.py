"""Examples and notebooks run as they are."""

import ast
import hashlib
import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.models.find import find_model, shipped_models
from tests.backends.lava.needs import needs_lava

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.fixture
def script(tmp_path, monkeypatch, capfd):
    """Run a script of examples/ in an empty folder and return what it printed."""

    def run(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        code = 0
        try:
            runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        except SystemExit as ended:
            code = ended.code
        assert code in (0, None)
        return capfd.readouterr().out

    return run


def test_own_data_pass_through_the_whole_pipeline_by_the_commands(script, tmp_path):
    printed = script("own_data.py")
    assert [line.split()[1] for line in printed.splitlines() if line.startswith("$ ")] == ["fsnn-train", "fsnn-export", "fsnn-run"]
    assert "PASS  faithful" in printed
    assert "test accuracy 100.00%" in printed
    assert "<html" in (tmp_path / "bars" / "report.html").read_text()


@pytest.mark.parametrize("architecture", [(), ("10C3-P2 (F10C3)",), ("30 (F30)",)])
def test_your_own_architecture_passes_through_the_whole_pipeline_in_python(script, architecture):
    printed = script("own_architecture.py", *architecture)
    assert "PASS  faithful" in printed
    accuracy = next(line for line in printed.splitlines() if "accuracy " in line)
    assert float(accuracy.split("%")[0].split()[-1]) > 85


def test_network_graphs_go_the_whole_way_in_python_to_lava_processes_and_a_board(script):
    needs_lava()
    printed = script("network_graphs.py", "sim")
    assert printed.count("PASS  faithful") == 2
    assert printed.count("spectral radius of the gains ") == 2
    assert printed.count("oheo-gulch") >= 2


def test_the_first_network_of_a_snntorch_user_takes_no_more_lines_than_there(script):
    text = (EXAMPLES / "from_snntorch.py").read_text(encoding="utf-8")
    head = ast.parse(text).body[0]
    code = [
        line
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.strip().startswith("#") and number > head.end_lineno
    ]
    theirs, ours = map(int, re.search(r"needs (\d+) lines.*this file has (\d+)", text, re.DOTALL).groups())
    assert len(code) == ours <= theirs
    printed = script("from_snntorch.py", "digits")
    assert float(re.search(r"Test set accuracy: \d+/364 \((.*)%\)", printed)[1]) > 75
    assert "PASS" in printed


def test_event_input_is_compared(script):
    assert "PASS  faithful" in script("event_input.py")


def test_the_emulator_is_used_from_python(script):
    printed = script("use_emulator.py")
    assert "spikes (50, 32, 32, 4, 4)" in printed
    assert "364 images in 4 batches" in printed


def test_results_are_read_with_and_without_us(script, tmp_path):
    assert fsnn_run(["digits", "--backend", "emu", "--limit", "20", "--out", str(tmp_path / "results.h5"), "--no-compare"]) == 0
    printed = script("read_results.py", "results.h5")
    assert "20 samples on emu, 32 steps" in printed
    assert "/rows contains clip_count, labels" in printed


def test_the_convergence_plot_shows_if_falling_and_lif_bounded(script, tmp_path):
    printed = script("convergence.py", "picture.png", "--steps", "100")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    for line in printed.splitlines():
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
    names = shipped_models()
    assert {"digits", "fashion-mnist-if", "fashion-mnist-lif"} <= set(names)
    for name in names:
        folder = EXAMPLES / "models" / name
        card = (folder / "card.md").read_text()
        assert fl.ChipNetwork.load(find_model(name)).digest() in card
        assert hashlib.sha256((folder / "model.pt").read_bytes()).hexdigest() in card


def test_the_packaged_digits_network_runs_on_the_smallest_board():
    assert fl.place(fl.ChipNetwork.load(find_model("digits")), board="oheo-gulch").answer == "runs"


def test_the_model_maker_measures_what_it_writes():
    make = runpy.run_path(str(EXAMPLES / "models" / "make.py"))
    from fsnn_lava.data import load

    net, chip = fl.FSNN.load(EXAMPLES / "models" / "digits" / "model.pt"), fl.ChipNetwork.load(find_model("digits"))
    figures = make["measure"](net, chip, load("digits"))
    card = (EXAMPLES / "models" / "digits" / "card.md").read_text()
    assert f"{figures['integer']:.2%}" in card
    assert figures["integer"] >= 0.97


def test_the_model_maker_certifies_single_samples_of_a_network_that_is_not_certified():
    make = runpy.run_path(str(EXAMPLES / "models" / "make.py"))
    from fsnn_lava.data import load
    from fsnn_lava.quantisation.quantise import quantise_in_full

    data = load("digits")
    torch.manual_seed(0)
    net = fl.FSNN("4C3s (F4C3)", input_shape=(1, 8, 8), classes=10, vth=0.3, steps=8, normalisation=data.normalisation).eval()
    made = quantise_in_full(net, calibration=data.train.batch(range(16)))
    assert made.gain_after >= 1
    assert re.fullmatch(r"\d of 8; ‖J‖ at the equilibrium at most \S+", make["local_certificates"](made, data))
