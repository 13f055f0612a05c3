"""The NIR example runs in another framework and gives our rates."""

from __future__ import annotations

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.formats import nir as nir_file

pytest.importorskip("snntorch", reason="snnTorch is not installed")

from examples.nir_other_framework import main


@pytest.mark.parametrize("architecture", ["6C3s (F6C3)", "20 (F20)"])
def test_snntorch_makes_the_rates_of_the_emulator(architecture, tmp_path, capsys):
    torch.manual_seed(0)
    normalisation = fl.Normalisation(16.0, (0.3,), (0.4,))
    net = fl.FSNN(architecture, input_shape=(1, 8, 8), classes=10, steps=30, normalisation=normalisation).eval()
    nir_file.write_nir(fl.quantise(net), tmp_path / "net.nir")
    assert main(str(tmp_path / "net.nir")) == 0.0  # integers below 2**24 and halves of 2**-6: exact in floats too
    assert "largest difference" in capsys.readouterr().out
