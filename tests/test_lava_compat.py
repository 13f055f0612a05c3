"""Each patch of Lava works where it is needed, and nothing is changed where it is not."""

from __future__ import annotations

import builtins
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fsnn_lava import lava_compat
from fsnn_lava.backends.availability import missing_for_backend
from fsnn_lava.lava_compat import FIXES, FixingFinder, FixingLoader

VAR_MODEL, PORTS, CONV, DETECTION = FIXES
NEEDED = {name: fix.needed() for name, fix in FIXES.items()}
needs_lava = pytest.mark.skipif(
    bool(missing_for_backend("sim")), reason=f"Lava cannot run here; missing: {'; '.join(missing_for_backend('sim'))}"
)
needs_lava_dl = pytest.mark.skipif(
    bool(missing_for_backend("sim")) or lava_compat._is_missing("lava.lib.dl"), reason="lava-dl is not installed"
)


def where_needed(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not NEEDED[name], reason=f"{name} needs no fix with this Python and these packages")


def python(code: str) -> subprocess.CompletedProcess[str]:
    """A new interpreter, in which nothing has been imported yet."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=200)


# --- when a fix is applied -------------------------------------------------------------------------------------------------------


@pytest.fixture
def lava_files(tmp_path):
    """A folder where every module that has a fix could be found; it is not executed."""
    for name in FIXES:
        (tmp_path / f"{name.rpartition('.')[2]}.py").write_text("")
    return [str(tmp_path)]


def fixed_modules(lava_files: list[str]) -> set[str]:
    return {name for name in FIXES if FixingFinder().find_spec(name, lava_files)}


@pytest.mark.parametrize(
    ("python_version", "numpy_version", "missing", "fixed"),
    [
        ((3, 10, 13), (1, 26), (), set()),
        ((3, 10, 13), (2, 0), (), {CONV}),
        ((3, 10, 13), (2, 3), (), {CONV}),
        ((3, 10, 13), (2, 4), (), {CONV, PORTS}),
        ((3, 11, 0), (1, 26), (), {VAR_MODEL}),
        ((3, 13, 0), (2, 4), ("cv2",), {VAR_MODEL, CONV, PORTS, DETECTION}),
        ((3, 10, 13), (1, 26), ("torchvision",), {DETECTION}),
    ],
)
def test_a_module_is_fixed_only_with_the_versions_that_need_it(monkeypatch, lava_files, python_version, numpy_version, missing, fixed):
    monkeypatch.setattr(lava_compat.sys, "version_info", python_version)
    monkeypatch.setattr(lava_compat, "_numpy_version", lambda: numpy_version)
    monkeypatch.setattr(lava_compat, "_is_missing", lambda name: name in missing)
    assert fixed_modules(lava_files) == fixed


def test_the_version_of_numpy_is_read_as_numbers(monkeypatch):
    monkeypatch.setattr(np, "__version__", "2.10.0rc1")
    assert lava_compat._numpy_version() == (2, 10)


def test_the_finder_invents_no_module_and_leaves_others_to_python(tmp_path, lava_files):
    assert fixed_modules([str(tmp_path / "empty")]) == set()
    (tmp_path / "process.py").write_text("")
    assert FixingFinder().find_spec("lava.proc.conv.process", lava_files) is None
    assert FixingFinder().find_spec("utils", lava_files) is None


def test_importing_the_package_imports_neither_lava_nor_numpy_and_does_not_touch_multiprocessing():
    done = python(
        "import fsnn_lava, sys; print(*{name.split('.')[0] for name in sys.modules} & {'lava', 'numpy', 'torch', 'multiprocessing'})"
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_installing_twice_installs_once():
    lava_compat.install_import_hook()
    assert sum(isinstance(finder, FixingFinder) for finder in sys.meta_path) == 1


# --- ByteEncoder -----------------------------------------------------------------------------------------------------------------


@needs_lava
def test_byte_encoder_ends_up_unhashable_with_a_shared_default_as_on_python_3_10():
    from lava.magma.compiler import var_model

    with pytest.raises(TypeError, match="unhashable type: 'ByteEncoder'"):
        hash(var_model.ByteEncoder())
    assert var_model.CoreEncoder().x is var_model.CoreEncoder().x
    assert var_model.ByteEncoder(base=3) == var_model.ByteEncoder(base=3)


def test_only_byte_encoder_of_that_module_becomes_hashable_and_classes_are_built_as_before():
    source = (
        "import dataclasses\n"
        "class Inner:\n    class ByteEncoder: __hash__ = None; __module__ = 'elsewhere'\n"
        "@dataclasses.dataclass\nclass Other: pass\n"
        "@dataclasses.dataclass\nclass ByteEncoder: pass\n"
        "hashes = (Other.__hash__, Inner.ByteEncoder.__hash__, ByteEncoder.__hash__)\n"
    )
    module, before = ModuleType("var_model"), builtins.__build_class__
    lava_compat.hashable_while_imported(Source(source), module)
    assert module.hashes == (None, None, object.__hash__)
    assert module.ByteEncoder.__hash__ is None
    assert builtins.__build_class__ is before


def test_a_module_that_fails_leaves_nothing_changed():
    before = builtins.__build_class__
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        lava_compat.hashable_while_imported(Source("1 / 0"), ModuleType("var_model"))
    assert builtins.__build_class__ is before


class Source:
    """A loader whose module is this text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def exec_module(self, module: ModuleType) -> None:
        exec(self.text, module.__dict__)


# --- ports and convolutions, in real runs ----------------------------------------------------------------------------------------


def run_through(data: np.ndarray, connect: Any, shape: tuple[int, ...]) -> np.ndarray:
    """What reaches a sink of `shape`, [*shape, T], if `data` [..., T] is sent step by step; a child that raises ends in an error."""
    from fsnn_lava.backends.lava.model_selection import ByTag
    from fsnn_lava.backends.lava.quiet_logging import quiet_logging
    from fsnn_lava.backends.lava.session import Session

    from lava.proc.io.sink import RingBuffer as Sink  # isort: skip
    from lava.proc.io.source import RingBuffer as Source  # isort: skip

    received = []
    with quiet_logging():
        source, sink = Source(data=data), Sink(shape=shape, buffer=data.shape[-1])
        between = connect(source.s_out, sink.a_in)
        with Session([source, *between, sink], ByTag()) as session:
            session.run(data.shape[-1])
            session.paused(lambda: received.append(sink.data.get()))
    return received[0]


@needs_lava
def test_a_reshaped_port_delivers_in_a_run():
    def connect(source: Any, sink: Any) -> list[Any]:
        source.reshape((3, 2)).connect(sink)
        return []

    data = np.arange(18).reshape(2, 3, 3)
    np.testing.assert_array_equal(run_through(data, connect, (3, 2)), data.reshape(3, 2, 3))


@needs_lava
def test_a_reshaped_port_leads_back_to_the_shape_of_its_source():
    from lava.magma.core.process.ports.ports import OutPort

    port = OutPort(shape=(2, 3)).reshape((6,))
    there, back = port.get_transform_func_fwd(), port.get_transform_func_bwd()
    data = np.arange(6).reshape(2, 3)
    assert there(data).tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(back(there(data)), data)


def convolve(image: np.ndarray, weight: np.ndarray, stride: tuple[int, int], padding: tuple[int, int]) -> np.ndarray:
    """Convolution (flipped kernel) of image [W, H, C] with weight [O, W, H, C], in int64, without scipy."""
    padded = np.pad(image.astype(np.int64), ((padding[0],) * 2, (padding[1],) * 2, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[1:3], axis=(0, 1))[:: stride[0], :: stride[1]]
    return np.einsum("xycij,oijc->xyo", windows, weight[:, ::-1, ::-1].astype(np.int64))


@needs_lava
@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding"),
    [
        pytest.param((4, 3, 130), (129, 3, 2, 130), (2, 1), (1, 0), id="130 channels to 129"),
        pytest.param((131, 4, 2), (3, 2, 3, 2), (1, 2), (0, 1), id="a side of 131"),
        pytest.param((4, 120, 1), (2, 3, 5, 1), (1, 3), (1, 10), id="a side of 120 that padding makes 140"),
    ],
)
def test_a_large_convolution_is_computed_by_lavas_own_process(shape, kernel, stride, padding):
    from lava.proc.conv.process import Conv

    rng = np.random.default_rng(3)
    data, weight = rng.integers(-9, 10, (*shape, 2)), rng.integers(-128, 128, kernel)
    conv = Conv(weight=weight, input_shape=shape, stride=stride, padding=padding, num_message_bits=8)

    def connect(source: Any, sink: Any) -> list[Any]:
        source.connect(conv.s_in)
        conv.a_out.connect(sink)
        return [conv]

    expected = convolve(data[..., 0], weight, stride, padding)
    found = run_through(data, connect, expected.shape)  # a synapse delivers one step later
    np.testing.assert_array_equal(found[..., 1], expected)
    assert np.abs(expected).max() > 1000


# --- object detection ------------------------------------------------------------------------------------------------------------


@needs_lava_dl
@where_needed(DETECTION)
def test_slayer_and_netx_import_without_object_detection_and_using_it_says_why():
    show = "print(netx.hdf5.Network.__name__, slayer.block.__name__)"
    done = python(f"import fsnn_lava\nfrom lava.lib.dl import netx, slayer\n{show}\nslayer.obd.YOLOBase")
    assert done.stdout == "Network lava.lib.dl.slayer.block\n"
    assert "object_detection is not available because it needs cv2 and torchvision: pip install" in done.stderr


# --- what happens without ---------------------------------------------------------------------------------------------------------

IMPORT_FIRST = "import fsnn_lava\nfrom fsnn_lava.lava_compat import FIXES\n"
WITHOUT = {
    VAR_MODEL: (f"import {VAR_MODEL}", "ValueError: mutable default"),
    PORTS: (
        "import numpy\nfrom lava.magma.core.process.ports.ports import OutPort\n"
        "OutPort(shape=(2, 3)).reshape((6,)).get_transform_func_fwd()(numpy.zeros((2, 3)))",
        "unexpected keyword argument 'newshape'",
    ),
    CONV: (
        "import numpy as np\nfrom lava.proc.conv.utils import conv\none = np.ones(2, np.int8)\n"
        "conv(np.zeros((1, 1, 128)), np.zeros((128, 1, 1, 128)), one, one, 0 * one, one, one[0])",
        "OverflowError",
    ),
    DETECTION: ("import lava.lib.dl.slayer", "ModuleNotFoundError: No module named"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[needs_lava_dl if name == DETECTION else needs_lava, where_needed(name)]) for name in FIXES]
)
def test_every_fix_is_still_needed(name):
    code, error = WITHOUT[name]
    assert python(f"{IMPORT_FIRST}del FIXES['{name}']\n{code}").stderr.count(error) == 1
    kept = python(f"{IMPORT_FIRST}{code}")
    assert kept.returncode == 0, kept.stderr


# --- nothing else -----------------------------------------------------------------------------------------------------------------


EVERYTHING = """
import builtins, dataclasses, sys, types
import numpy as np
before = builtins.__build_class__, dataclasses.dataclass, np.reshape
import fsnn_lava
from fsnn_lava.lava_compat import FIXES, FixingLoader
import lava.magma.core.process.process, lava.proc.conv.models, lava.proc.lif.models, lava.proc.io.sink
assert before == (builtins.__build_class__, dataclasses.dataclass, np.reshape)
modules = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("lava", "numpy", "scipy", "networkx")}
print("fixed:", *(name for name, module in modules.items() if isinstance(getattr(module.__spec__, "loader", None), FixingLoader)))
for name, module in modules.items():
    classes = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == name]
    for value in [*vars(module).values(), *(item for kind in classes for item in vars(kind).values())]:
        if isinstance(value, types.FunctionType) and value.__code__.co_filename == fsnn_lava.lava_compat.__file__ and name not in FIXES:
            print("touched:", name, value)
"""


@needs_lava
def test_no_other_module_is_touched():
    done = python(EVERYTHING)
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert set(line.split()) == {"fixed:", *(name for name in (VAR_MODEL, PORTS, CONV) if NEEDED[name])}


@needs_lava
@where_needed(CONV)
def test_a_fixed_module_still_shows_its_source():
    import inspect

    from lava.proc.conv import utils

    assert isinstance(utils.__spec__.loader, FixingLoader)
    assert isinstance(utils.__spec__.loader._loader, SourceFileLoader)
    assert "def conv_to_sparse" in inspect.getsource(utils)
    assert inspect.signature(utils.conv).parameters.keys() == inspect.signature(utils.conv_scipy).parameters.keys()


# --- Lava first -------------------------------------------------------------------------------------------------------------------

NEED_LAVA = "\nfrom fsnn_lava.backends.lava.requirement import require_lava\nrequire_lava()"


@needs_lava
@where_needed(CONV)
def test_lava_imported_first_is_a_warning_and_then_an_error_that_say_what_to_do():
    done = python(f"import {CONV}\nimport fsnn_lava{NEED_LAVA}")
    sentence = f"Lava was imported before fsnn_lava and lacks the fixes it needs on this Python and numpy ({CONV}): import fsnn_lava first"
    assert f"<string>:2: RuntimeWarning: {sentence}" in done.stderr
    assert f"BackendMissing: backend 'sim' cannot run: {sentence}" in done.stderr


@needs_lava
@where_needed(VAR_MODEL)
def test_after_an_import_of_lava_that_failed_importing_the_package_is_enough():
    done = python(
        "try:\n    import lava.proc.conv.process\nexcept ValueError as error:\n    print(error)\n"
        "import sys\nfrom fsnn_lava.cli.run import fsnn_run\nsys.exit(fsnn_run(['--backend', 'sim', '--limit', '2', '--steps', '3']))"
    )
    assert "mutable default" in done.stdout
    assert "imported before fsnn_lava" not in done.stderr
    assert done.returncode == 0, done.stderr


@needs_lava
def test_lava_modules_that_need_no_fix_may_be_imported_first():
    done = python(f"import lava.magma.runtime.mgmt_token_enums\nimport fsnn_lava{NEED_LAVA}")
    assert (done.returncode, done.stderr) == (0, "")
