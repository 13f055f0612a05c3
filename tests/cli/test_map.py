from __future__ import annotations

import json

import numpy as np
import pytest

from fsnn_lava.cli.map import fsnn_map
from fsnn_lava.formats import results
from fsnn_lava.placement.obstacles import obstacles, possible_obstacles
from fsnn_lava.running.run import run
from hw_tests.networks import one_neuron
from tests.helpers.chip_networks import conv_network
from tests.helpers.paper_networks import paper_network


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    for name in ("fashion", "alexnet-f"):
        paper_network(name).save(folder / f"{name}.h5")
    return folder


def test_a_network_that_fits_exits_0_with_table_and_verdict(files, capsys):
    assert fsnn_map([str(files / "fashion.h5"), "--cores"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1] == "runs: it takes 5 of 120 cores of oheo-gulch"
    assert "Per core utilization" in out
    assert "footprint" in out


def test_a_network_that_does_not_fit_exits_1_and_says_why(files, capsys):
    assert fsnn_map([str(files / "alexnet-f.h5")]) == 1
    assert "does not fit: the network needs 133 cores, oheo-gulch has 120" in capsys.readouterr().out.splitlines()[1]
    assert fsnn_map([str(files / "alexnet-f.h5"), "--board", "kapoho-point"]) == 0


def test_json_holds_layers_metrics_and_the_warning(files, capsys):
    assert fsnn_map([str(files / "fashion.h5"), "--json", "--cores", "--board", "hala-point"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["board"], found["cores"], found["fits"]) == ("hala-point", 5, True)
    assert found["layers"][0]["use"]["Synapses"] == 12800
    assert found["layers"][0]["share"]["Synapses"] == 0.8
    assert {"footprint", "connection_sparsity"} <= set(found["metrics"])
    assert "has not been run on silicon" in found["model"]
    assert "axons_out_per_core" in found["unknown"]
    assert len(found["core_list"]) == 5
    assert found["latency"]["chip_steps_per_sample"] == 32  # T = 30, one layer and the readout


def test_the_picture_is_written_and_nothing_half(files, tmp_path, capsys):
    assert fsnn_map([str(files / "fashion.h5"), "--svg", str(tmp_path / "map.svg")]) == 0
    assert (tmp_path / "map.svg").read_text().endswith("</svg>\n")
    assert fsnn_map([str(files / "fashion.h5"), "--svg", str(tmp_path / "no" / "map.svg")]) == 2
    assert "fsnn-map: cannot write" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["map.svg"]


def test_what_the_chips_neurons_cannot_hold_is_reported_before_a_job_is_queued(tmp_path, capsys):
    one_neuron(threshold=9001, steps=30).save(tmp_path / "net.h5")
    assert fsnn_map([str(tmp_path / "net.h5")]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith("cannot run on the chip: layer 'l1'")
    assert "cannot run on the chip: layer 'l1': ATRLIF on the chip supports thresholds up to 8190 weight units, but this" in out
    one_neuron(threshold=8000, steps=30).save(tmp_path / "lossy.h5")
    assert fsnn_map([str(tmp_path / "lossy.h5")]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith("runs with loss: it takes ")
    assert "a neuron that fires at every step reaches 248000; export with --bits 7" in out  # 8000 * 31; half of it is below 131071
    one_neuron(threshold=4000, steps=30).save(tmp_path / "small.h5")
    assert fsnn_map([str(tmp_path / "small.h5"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["answer"], found["obstacles"], found["risks"]) == ("runs", [], [])
    per_channel = conv_network(per_channel=True)
    assert any("one threshold per layer" in sentence for sentence in obstacles(per_channel))
    leaky = one_neuron(threshold=10, decay=205)
    assert obstacles(leaky) == []
    assert "13 bits" in possible_obstacles(leaky)[0]


def test_the_results_of_a_run_add_counts_and_a_labelled_estimate(files, tmp_path, capsys):
    chip = paper_network("fashion")
    values = np.full((2, 784), 3, dtype=np.uint8)
    result = run(chip, values, backend="emu", steps=4)
    results.write_results(tmp_path / "results.h5", result, chip, values)
    assert fsnn_map([str(files / "fashion.h5"), "--results", str(tmp_path / "results.h5"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["synaptic_operations"] == result.operations.mean()
    assert found["cost"]["synaptic_operations"] < result.operations.mean()  # the chip is given the pixels once
    low, high = found["cost"]["energy"]
    assert 0 < low < high < found["cost"]["energy_with_host_io"][1]
    assert fsnn_map([str(files / "fashion.h5"), "--results", str(tmp_path / "results.h5")]) == 0
    out = capsys.readouterr().out
    assert "(an estimate, not a measurement)" in out and "source of static_power: L and S: measured when the chip was idle" in out
    assert "unknown" not in out
    assert fsnn_map([str(files / "alexnet-f.h5"), "--results", str(tmp_path / "results.h5")]) == 2
    assert "another network" in capsys.readouterr().err


def test_bad_input_exits_2_with_one_line(files, tmp_path, capsys):
    assert fsnn_map([str(files / "fashion.h5"), "--board", "moon"]) == 2
    assert fsnn_map([str(tmp_path / "none.h5")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "unknown board 'moon'" in lines[0]
    assert "none.h5" in lines[1]
