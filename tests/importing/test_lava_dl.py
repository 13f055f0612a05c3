"""Networks of lava-dl: the same integers, with a sentence on what their neurons do."""

from __future__ import annotations

from fsnn_lava.formats.netx import read_netx, write_netx
from fsnn_lava.importing.lava_dl import from_lava_dl
from tests.torture.originals import _slayer


def test_the_network_is_the_same_and_its_notes_say_what_its_neurons_do(tmp_path):
    _slayer(tmp_path / "slayer.net")
    chip = from_lava_dl(tmp_path / "slayer.net")
    assert chip.digest() == read_netx(tmp_path / "slayer.net").digest()
    said = chip.notes["imported"]
    assert said.startswith("lava-dl network slayer.net: layer1, layer2 resets to zero, spikes at u > θ, keeps 0.96875 of u per step")
    assert said.endswith("there is no equilibrium")
    write_netx(chip, tmp_path / "net.h5")
    assert read_netx(tmp_path / "net.h5").notes["imported"] == said
