"""What `print` and a notebook show of the public objects: short, without weights, every text escaped in HTML."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.summary import Summary
from tests.helpers.chip_networks import conv_network, dense_network

NASTY = "<script>alert('x')</script>"


class TableReader(HTMLParser):
    """Rows of the cells of a table; fails on a tag that a summary does not use."""

    KNOWN = ("table", "caption", "thead", "tbody", "tr", "th", "td", "p")

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = ""

    def handle_starttag(self, tag, attrs):
        assert tag in self.KNOWN
        self.inside = tag
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside in ("td", "th"):
            self.rows[-1][-1] += data


def table(html: str) -> list[list[str]]:
    reader = TableReader()
    reader.feed(html)
    return reader.rows


@pytest.fixture(scope="module")
def ran():
    torch.manual_seed(0)
    net = fl.FSNN("6C3s-4C3s (F6C3u)", input_shape=(2, 8, 12), classes=3, neuron=fl.LIF(0.9), norm="operator").eval()
    pixels = np.random.default_rng(0).integers(0, 256, (5, 2, 8, 12), dtype=np.uint8)
    chip = fl.quantise(net, steps=10)
    result = fl.run(chip, pixels)
    return net, chip, pixels, result


def test_a_network_prints_as_a_table_of_layers_and_connections():
    chip = replace(conv_network(), notes={"architecture": "3C3-4C3s (F3C3u)"})
    assert repr(chip) == "ChipNetwork('3C3-4C3s (F3C3u)', 2 layers, 192 neurons, 546 weights, 16 steps)"
    lines = [line.split() for line in str(chip).splitlines()]
    assert " ".join(lines[0]) == "ChipNetwork '3C3-4C3s (F3C3u)', 2 layers, 192 neurons, 546 weights, 16 steps"
    assert lines[2] == ["input", "2x6x8", "96", "pixels"]
    assert lines[3] == ["l1", "3x6x8", "144", "IF,", "threshold", "600"]
    assert " ".join(lines[5]) == "l2 -> l1 4x3x3x3 108 feedback, transposed convolution, stride 2x2, exponent 0"
    assert " ".join(lines[9]) == "l2 -> readout 5x48 240 dense, exponent 0"
    assert lines[-1] == ["network", chip.digest()[:12]]


def test_a_network_shows_leak_thresholds_reset_and_what_the_host_computes():
    text = str(conv_network(decay=205, per_channel=True, reset="zero"))
    assert "LIF, leak 0.95, thresholds " in text
    assert text.count("reset to zero") == 2
    assert "  host -> l1       5x7                      current, computed by the host" in str(dense_network(kind="current"))


def test_parts_of_a_network_do_not_print_their_weights():
    chip = conv_network()
    parts = [chip.input, *chip.layers, *chip.synapses, chip.readout, dense_network(kind="current").host_drive]
    assert "array" not in repr(parts)
    assert repr(chip.layers[0]) == "Layer(name='l1', shape=(3, 6, 8), decay=0, reset='subtract', strict=False)"


def test_a_float_network_prints_as_a_table_of_layers_and_connections(ran):
    net = ran[0]
    assert repr(net) == "FSNN('6C3s-4C3s (F6C3u)', input_shape=(2, 8, 12), classes=3, neuron=LIF(leak=0.9), vth=2)"
    lines = [" ".join(line.split()) for line in str(net).splitlines()]
    assert lines[0] == "FSNN '6C3s-4C3s (F6C3u)': LIF(leak=0.9), vth 2, 30 steps, sequential"
    assert lines[3] == "l1 6x4x6 144 108 convolution 3x3, stride 2, batch norm"
    assert lines[5].startswith("l2 -> l1 216 feedback, transposed convolution, alpha ")
    assert lines[6] == "readout 3 3 72 dense"
    assert "tensor" not in str(net)


def test_a_result_prints_the_activity_of_every_layer(ran):
    _, chip, _, result = ran
    assert repr(result) == f"Result(emu, 5 samples, 10 steps, network {chip.digest()[:12]})"
    rows = table(result._repr_html_())
    assert rows[0] == ["layer", "shape", "spikes", "mean rate", "silent neurons", "clips"]
    assert [row[1] for row in rows[1:]] == ["6x4x6", "4x2x3", "3"]
    for row, counts, rates in zip(rows[1:], result.counts, result.rates, strict=False):
        assert row[2:5] == [f"{counts.sum():,}", f"{rates.mean():.4f}", str((counts.sum(axis=0) == 0).sum())]
    assert f"{result.operations.mean():,.0f} synaptic operations" in str(result)


def test_clips_are_counted_in_their_own_rows(ran):
    result = ran[3]
    clips = np.array([[1, 20, 300]] * 5)
    rows = table(replace(result, clip_count=clips)._repr_html_())
    assert [row[5] for row in rows[1:]] == ["5", "100", "1,500"]


def test_a_verdict_prints_its_checks(ran):
    net, chip, pixels, result = ran
    verdict = fl.compare(result, chip, pixels, model=net)
    assert str(verdict) == verdict.to_text()
    assert repr(verdict) == f"Verdict(PASS, {sum(check.done for check in verdict.checks)} of 10 checks done)"
    rows = table(verdict._repr_html_())
    assert rows[1:] == [[check.mark, check.name, check.summary] for check in verdict.checks]


def test_a_failed_verdict_names_the_checks_and_shows_where(ran):
    _, chip, pixels, result = ran
    wrong = tuple(counts + (np.arange(counts[0].size).reshape(counts[0].shape) == 7) for counts in result.counts)
    verdict = fl.compare(replace(result, counts=wrong), chip, pixels)
    assert repr(verdict).startswith("Verdict(FAIL, ")
    assert all(check.name in repr(verdict) for check in verdict.failed)
    assert "sample 0, layer 'l1'" in verdict._repr_html_().replace("&#x27;", "'")
    assert len(repr(verdict.checks)) < 4000


def test_a_placement_prints_cores_and_what_limits_them(ran):
    placement = fl.place(ran[1])
    assert repr(placement) == f"Placement(board='oheo-gulch', cores={placement.cores}, answer='runs with loss')"
    assert str(placement).startswith(f"Placement: {placement.verdict}\n")
    rows = table(placement._repr_html_())
    assert [(row[0], row[3]) for row in rows[1:]] == [(layer.name, str(layer.cores)) for layer in placement.layers]


def test_traces_and_equilibria_print_no_tensors(ran):
    net, _, pixels, _ = ran
    images = torch.from_numpy(pixels)
    assert repr(net.simulate(images, 5)).startswith("Trace(rates [5, 6, 4, 6] mean 0.")
    assert repr(net.equilibrium(images)).startswith("Equilibrium(converged=True, residual at most ")
    assert "tensor" not in repr((net.simulate(images, 5), net.equilibrium(images)))


def test_data_print_their_size_and_no_values():
    data = fl.load_data("digits")
    assert repr(data) == "Dataset('digits', 1433 training and 364 test samples of shape (1, 8, 8), 10 classes)"
    assert repr(data.train) == "ArraySplit(1433 samples of shape (1, 8, 8))"
    numbers = replace(data.test, targets=np.zeros((364, 3), np.float32))
    held_out = replace(data, test=numbers, validation=data.train)
    assert repr(held_out).endswith("1433 training, 1433 validation and 364 test samples of shape (1, 8, 8), 3 outputs)")


def test_html_escapes_names_notes_and_findings():
    chip = replace(dense_network(), notes={"architecture": NASTY})
    check = fl.Check(name=NASTY, passed=False, summary=NASTY, offenders=[{"layer": NASTY, "what": NASTY}])
    verdict = fl.Verdict(checks=(check,), about={"backend": NASTY})
    for html in (chip._repr_html_(), verdict._repr_html_()):
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        table(html)
    summary = Summary(title=NASTY, columns=(NASTY,), rows=((NASTY,),), notes=(NASTY,))
    assert summary.to_html().count("&lt;script&gt;") == 4


def test_columns_of_numbers_are_aligned_to_the_right():
    text = Summary(title="t", columns=("name", "n", "x"), rows=(("a", 1234567, 0.25), ("long", 5), ("b", "", 12.0))).to_text()
    assert text.splitlines() == ["t", "  name          n     x", "  a     1,234,567  0.25", "  long          5", "  b                  12"]
