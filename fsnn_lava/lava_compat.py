"""Apply the fixes that unmodified Lava 0.10 needs on Python 3.11+ and numpy 2, while Python imports the four modules in `FIXES`.

No file of Lava is changed, and Lava is not imported here. A module is left alone if it does not need its fix: with the versions that
Lava was released for (Python 3.10, numpy 1, OpenCV and torchvision installed), nothing is changed.
"""

from __future__ import annotations

import builtins
import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # importing these would take longer than the rest of `import fsnn_lava`
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec


class Fix(NamedTuple):
    """The fix for one module: when it is needed, and how the module is executed instead (`execute` gets the module's own loader)."""

    needed: Callable[[], bool]
    execute: Callable[[Loader, ModuleType], None]


def hashable_while_imported(loader: Loader, module: ModuleType) -> None:
    """Make ByteEncoder hashable, but only while its module is executed: Python 3.11 requires dataclass defaults to be hashable."""
    build_class = builtins.__build_class__

    def build(body: Callable[[], Any], name: str, /, *bases: Any, **options: Any) -> Any:
        made = build_class(body, name, *bases, **options)
        if name == "ByteEncoder" and made.__module__ == module.__name__:
            made.__hash__ = object.__hash__
        return made

    builtins.__build_class__ = build
    try:
        loader.exec_module(module)
    finally:
        builtins.__build_class__ = build_class
    module.ByteEncoder.__hash__ = None  # type: ignore[attr-defined]


def _reshape_by_shape(loader: Loader, module: ModuleType) -> None:
    """Make the ports pass np.reshape's argument as `shape`, since numpy 2.4 removed the name `newshape`."""
    import numpy as np

    loader.exec_module(module)
    port: Any = module.ReshapePort  # type: ignore[attr-defined]
    port.get_transform_func_fwd = lambda self: functools.partial(np.reshape, shape=self.shape)
    port.get_transform_func_bwd = lambda self: functools.partial(np.reshape, shape=self.old_shape)


def _convolve_with_python_sizes(loader: Loader, module: ModuleType) -> None:
    """Pass sizes to `conv` as Python integers: they arrive as int8, and since numpy 2 everything computed from them stays int8."""
    loader.exec_module(module)
    original = module.conv  # type: ignore[attr-defined]

    @functools.wraps(original)
    def conv(input_: Any, weight: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
        sizes = (tuple(int(n) for n in size) for size in (kernel_size, stride, padding, dilation))
        return original(input_, weight, *sizes, int(groups))

    module.conv = conv  # type: ignore[attr-defined]


def _leave_out(loader: Loader, module: ModuleType) -> None:
    """Leave the module empty; using it raises an error that says why."""

    def explain(name: str) -> Any:
        raise AttributeError(
            f"{module.__name__} is not available because it needs cv2 and torchvision: pip install opencv-python-headless torchvision"
        )

    module.__path__ = []
    module.__getattr__ = explain  # type: ignore[method-assign]


def _numpy_version() -> tuple[int, int]:
    """Return the major and minor version of numpy, on which Lava's fixes depend."""
    import numpy as np

    major, minor = np.__version__.split(".")[:2]
    return int(major), int(minor)


def _is_missing(name: str) -> bool:
    """Return whether a package that a Lava module imports is not installed."""
    import importlib.util

    return importlib.util.find_spec(name) is None


FIXES = {
    "lava.magma.compiler.var_model": Fix(needed=lambda: sys.version_info >= (3, 11), execute=hashable_while_imported),
    "lava.magma.core.process.ports.ports": Fix(needed=lambda: _numpy_version() >= (2, 4), execute=_reshape_by_shape),
    "lava.proc.conv.utils": Fix(needed=lambda: _numpy_version() >= (2, 0), execute=_convolve_with_python_sizes),
    "lava.lib.dl.slayer.object_detection": Fix(needed=lambda: _is_missing("cv2") or _is_missing("torchvision"), execute=_leave_out),
}


class FixingLoader:
    """Wraps the module's own loader: executing the module also applies the fix."""

    def __init__(self, loader: Loader, fix: Fix) -> None:
        self._loader, self._fix = loader, fix

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the Lava module with its own loader."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute a module of Lava with our patch applied."""
        self._fix.execute(self._loader, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_loader"], name)  # get_source, get_filename, …, which inspect and linecache call


class FixingFinder:
    """Finds only those modules in `FIXES` that need their fix; Python's other finders locate them."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec, with a FixingLoader, of a Lava module that needs a fix; None for any other module."""
        fix = FIXES.get(fullname)
        if fix is None or not fix.needed():
            return None
        others = (finder for finder in sys.meta_path if not isinstance(finder, FixingFinder))
        spec = next((spec for finder in others if (spec := finder.find_spec(fullname, path, target))), None)
        if spec is not None and spec.loader is not None:
            spec.loader = FixingLoader(spec.loader, fix)  # type: ignore[assignment]
        return spec


def install_import_hook() -> None:
    """Fix Lava whenever it is imported from now on; warn if it was already imported."""
    if not any(isinstance(finder, FixingFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, FixingFinder())
    sentence = imported_too_early()
    if sentence:
        warnings.warn(sentence, RuntimeWarning, stacklevel=3)


def imported_too_early() -> str:
    """Return a sentence if a module that needs a fix was imported before fsnn_lava, and so was not fixed; otherwise ""."""
    early = [name for name, fix in FIXES.items() if name in sys.modules and not _is_fixed(sys.modules[name]) and fix.needed()]
    if not early:
        return ""
    return (
        f"Lava was imported before fsnn_lava and lacks the fixes it needs on this Python and numpy ({', '.join(early)}): "
        "import fsnn_lava first, in a new interpreter (in a notebook: restart the kernel)"
    )


def _is_fixed(module: ModuleType) -> bool:
    return isinstance(getattr(getattr(module, "__spec__", None), "loader", None), FixingLoader)
