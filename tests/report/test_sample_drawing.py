"""A layer in one sample: every spike is a mark, every potential a point of the line."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from fsnn_lava.report.sample_drawing import Membrane, draw_layer, rows_shown


def test_every_spike_is_a_mark_and_every_step_a_point():
    rng = np.random.default_rng(0)
    spikes = rng.random((20, 6)) < 0.3
    membrane = Membrane(name="neuron <2>", potential=np.linspace(-0.5, 0.9, 20), spikes=spikes[:, 2])
    drawn = draw_layer(spikes, [f"neuron {i}" for i in range(6)], np.arange(6), [membrane], alt="a & b")
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == "a & b"
    marks = next(group for group in root if group.get("class") == "marks")
    assert [path.get("d").count("h") for path in marks] == [int(n) for n in spikes.sum(axis=0) if n]
    line = next(path for path in root if path.get("class") == "line").get("d")
    assert len(re.findall("[ML]", line)) == 20
    ticks = next(path for path in root if path.get("class") == "spike").get("d")
    assert ticks.count("M") == spikes[:, 2].sum()
    assert "neuron &lt;2&gt;" in drawn
    assert f"step 20: {spikes[19].mean():.1%} fire; potentials 0.90{' (spike)' if spikes[19, 2] else ''} vth" in drawn


def test_more_steps_show_fewer_rows():
    assert len(rows_shown(50, 30)) == 50
    assert len(rows_shown(5000, 8)) == 128
    assert len(rows_shown(5000, 64)) == 48
    assert len(rows_shown(5000, 100_000)) == 24
    assert rows_shown(5000, 30)[[0, -1]].tolist() == [0, 4999]
