"""A client of the public API as a type checker sees it: `mypy --strict` accepts it, and it runs. Any in place of a type is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from typing_extensions import assert_type

import fsnn_lava as fl


def train() -> fl.FSNN:
    """One step of training."""
    torch.manual_seed(0)
    normalisation = fl.Normalisation(255.0, (0.5,), (0.25,))
    solver = fl.Solver(method="gmres", tol=1e-2)
    neuron: fl.LIF = fl.IF()
    assert fl.SigmaDelta(dead_band=0.1).activation == "clip"
    net = fl.FSNN(
        "4C3s (F4C3)",
        input_shape=(1, 4, 4),
        classes=3,
        neuron=neuron,
        steps=12,
        norm="operator",
        normalisation=normalisation,
        solver=solver,
    )
    images = torch.randint(0, 256, (6, 1, 4, 4), dtype=torch.uint8)
    logits = net(images, steps=10)
    assert_type(logits, Tensor)
    torch.autograd.backward(torch.nn.functional.cross_entropy(logits, torch.arange(6) % 3))
    assert_type(net.last_solve, tuple[int, float] | None)
    return net.eval()


def look(net: fl.FSNN, images: Tensor) -> None:
    """Spikes and equilibrium of the float network."""
    trace = net.simulate(images, steps=10, residuals=True)
    assert_type(trace, fl.Trace)
    assert_type(trace.rates, tuple[Tensor, ...])
    assert_type(trace.counts, tuple[Tensor, ...])
    assert_type(trace.residuals, list[Tensor])
    point = net.equilibrium(images, tol=1e-5)
    assert_type(point, fl.Equilibrium)
    assert_type(point.rates, tuple[Tensor, ...])
    assert_type(point.residual, Tensor)
    assert_type(point.converged, bool)
    assert_type(net.rate_map(net.average(net.normalise(images), 10))(point.rates[-1]), tuple[Tensor, ...])
    assert_type(net.vth, float)
    assert_type(net.config(), dict[str, Any])


def build() -> tuple[fl.FSNN, fl.FSNN]:
    """The same network as a graph and of torch modules."""
    graph = fl.Graph(
        input_shape=(1, 4, 4),
        layers=[fl.Neurons("a", (2, 4, 4)), fl.Neurons("b", 5, vth=1.5)],
        connections=[
            fl.Connection(source="input", target="a", kind="conv", kernel=3),
            fl.Connection(source="a", target="b"),
            fl.Connection(source="b", target="b", limit=0.5),
        ],
    )
    assert_type(graph.shape("a"), tuple[int, ...])
    modules = {"a": torch.nn.Conv2d(1, 2, 3, padding=1), "b": torch.nn.Linear(32, 5)}
    back = {("b", "b"): torch.nn.Linear(5, 5, bias=False)}
    net = fl.FSNN(graph, classes=3)
    assert_type(net.spectral_radius(), float)
    return net, fl.from_modules(modules, connections=back, input_shape=(1, 4, 4), classes=3, vth=[2.0, 1.5])


def import_network() -> fl.FSNN:
    """A trained torch module."""
    ann = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    net = fl.from_torch(ann, input_shape=(4,), calibration=torch.rand(8, 4), steps=10)
    assert_type(net, fl.FSNN)
    return net


def import_files(folder: Path) -> list[str]:
    """Files of other programs, which are not there."""
    said: list[str] = []
    try:
        assert_type(fl.from_nir(folder / "absent.nir", written_by="snntorch"), fl.FSNN)
    except fl.BadFile as error:
        said.append(str(error))
    try:
        assert_type(fl.from_ide_fsnn(folder / "absent", leak=1.0), fl.FSNN)
    except fl.BadFile as error:
        said.append(str(error))
    return said


def draw(net: fl.FSNN, images: Tensor, result: fl.Result) -> list[str]:
    """Every figure, and the labels of their axes."""
    trace = net.simulate(images, steps=10, residuals=True)
    drawn = [
        fl.plot.rates(trace, net.equilibrium(images)),
        fl.plot.raster(result, 1, layer=0),
        fl.plot.residual(trace),
        fl.plot.confusion(result, [0, 1, 2, 0, 1, 2, 0, 1]),
    ]
    return [axes.get_xlabel() for axes in drawn]


def data() -> fl.Dataset:
    """A data set, and the file of a trained network for it."""
    loaded = fl.load_data("digits")
    assert_type(loaded, fl.Dataset)
    assert_type(loaded.train[0][1], int)
    assert_type(loaded.remarks, tuple[str, ...])
    assert_type(fl.find("digits"), Path)
    return loaded


def store(net: fl.FSNN, chip: fl.ChipNetwork, folder: Path) -> None:
    """Files of both networks."""
    net.save(folder / "model.pt")
    assert_type(fl.FSNN.load(folder / "model.pt"), fl.FSNN)
    chip.save(folder / "net.h5")
    assert_type(fl.ChipNetwork.load(folder / "net.h5"), fl.ChipNetwork)
    try:
        fl.ChipNetwork.load(folder / "model.pt")
    except fl.BadFile as error:
        assert_type(error.exit_code, int)


def run(chip: fl.ChipNetwork, pixels: NDArray[np.uint8]) -> fl.Result:
    """A run in integers, and what a client reads from it."""
    result = fl.run(chip, pixels, backend="emu", steps=12, spikes=True, residual=True)
    assert_type(result, fl.Result)
    assert_type(result.rates, tuple[NDArray[np.float64], ...])
    assert_type(result.logits, NDArray[np.float64])
    assert_type(result.predictions, NDArray[np.int64])
    assert_type(result.residual, NDArray[np.float64] | None)
    assert_type(result.part(slice(0, 2)), fl.Result)
    assert_type(result.samples, int)
    return result


def judge(result: fl.Result, chip: fl.ChipNetwork, pixels: NDArray[np.uint8], net: fl.FSNN, folder: Path) -> fl.Verdict:
    """A verdict with every option."""
    labels = np.arange(len(pixels), dtype=np.int64) % 3
    thresholds = fl.Thresholds(residual_max=1.0, contraction="none")
    verdict = fl.compare(result, chip, pixels, labels=labels, model=net, thresholds=thresholds)
    assert_type(verdict, fl.Verdict)
    assert_type(verdict.passed, bool)
    assert_type(verdict.faithful, bool | None)
    assert_type(verdict.settled, fl.Settled | None)
    assert_type(verdict.accurate, fl.Accurate | None)
    assert_type(verdict.checks, tuple[fl.Check, ...])
    assert_type(verdict.check("charge"), fl.Check)
    assert_type(verdict.check("charge").summary, str)
    verdict.to_html(folder / "report.html")
    return verdict


def place(chip: fl.ChipNetwork) -> fl.Placement:
    """Cores on a board."""
    placement = fl.place(chip, board="oheo-gulch", readout="auto")
    assert_type(placement, fl.Placement)
    assert_type(placement.fits, bool)
    assert_type(placement.cores, int | None)
    return placement


def catch() -> list[str]:
    """The first sentence of every error a client can provoke without a file or a board."""
    found: list[str] = []
    try:
        fl.FSNN("64X5", input_shape=(1, 4, 4), classes=3)
    except fl.BadArchitecture as error:
        found.append(str(error))
    try:
        fl.LIF(2.0)
    except fl.BadArgument as error:
        found.append(str(error))
    errors: tuple[type[fl.FsnnError], ...] = (
        fl.BadNetwork,
        fl.BadData,
        fl.Diverged,
        fl.CheckFailed,
        fl.BackendMissing,
        fl.BackendFailed,
        fl.PackageMissing,
    )
    found += [str(error("a sentence")) for error in errors]
    return [*found, str(fl.Interrupted("stopped")), str(fl.Remark("a note"))]


def misspell(chip: fl.ChipNetwork, pixels: NDArray[np.uint8]) -> None:
    """Options with a fixed set of values are Literals: a misspelt one is an error of the type checker (and BadArgument when it runs)."""
    fl.FSNN("4 (F4)", input_shape=(4,), classes=3, schedule="sequentiel")  # type: ignore[arg-type]
    fl.FSNN("4 (F4)", input_shape=(4,), classes=3, norm="kernels")  # type: ignore[arg-type]
    fl.Solver(method="newton")  # type: ignore[arg-type]
    fl.run(chip, pixels, backend="emulator")  # type: ignore[arg-type]
    fl.run(chip, pixels, graph="Stock")  # type: ignore[arg-type]
    fl.quantise(train(), reset="hard")  # type: ignore[arg-type]
    fl.quantise(train(), input="images")  # type: ignore[arg-type]


def main(folder: Path) -> fl.Verdict:
    net = train()
    pixels = np.random.default_rng(0).integers(0, 256, (8, 1, 4, 4), dtype=np.uint8)
    build()
    import_network()
    assert len(import_files(folder)) == 2
    look(net, torch.from_numpy(pixels))
    chip = fl.quantise(net, bits=8, calibration=pixels)
    assert_type(chip, fl.ChipNetwork)
    assert_type(chip.layers[0].name, str)
    assert_type(chip.digest(), str)
    assert_type(fl.__version__, str)
    store(net, chip, folder)
    place(chip)
    assert len(catch()) == 11
    assert data().classes == 10
    result = run(chip, pixels)
    assert len(draw(net, torch.from_numpy(pixels), result)) == 4
    return judge(result, chip, pixels, net, folder)
