"""The API reference: every public name is on the page, every argument is documented, every example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest
import torch

import fsnn_lava as fl
from tests.helpers.documentation import build
from tests.helpers.ide_checkpoint import random_state, write_checkpoint
from tests.helpers.nir_files import lif, nir_chain

griffe = pytest.importorskip("griffe", reason="mkdocstrings is not installed")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
ENTRY = re.compile(r"^::: (fsnn_lava[\w.]*)$", re.MULTILINE)
PUBLIC = tuple(name for name in fl.__all__ if name != "__version__")


def entries() -> list[str]:
    return ENTRY.findall(PAGE.read_text(encoding="utf-8"))


def resolve(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def own_members(value: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of the class itself or of a base in this library; `forward` is documented as `__call__`."""
    for base in value.__mro__:
        for name, member in vars(base).items() if base.__module__.startswith("fsnn_lava.") else ():
            hidden = (name.startswith("_") and name != "__call__") or name == "forward"
            if not hidden and (isinstance(member, (property, staticmethod)) or inspect.isfunction(member)):
                yield name, member


def documented() -> Iterator[tuple[str, Any, Any]]:
    """Path, owner and value of everything with a docstring on the page."""
    for path in entries():
        value = resolve(path)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield path, None, value
        for name, member in own_members(value) if inspect.isclass(value) else ():
            yield f"{path}.{name}", value, member


def sections(text: str) -> dict[str, list[Any]]:
    """The sections of a docstring as the site's parser reads them, by kind."""
    parsed = griffe.Docstring(text, lineno=1).parse("google", warnings=False)
    return {section.kind.value: section.value for section in parsed}


def names(text: str, kind: str) -> list[str]:
    return [entry.name for entry in sections(text).get(kind, [])]


def parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "args", "kwargs")]


def test_every_public_name_has_its_own_entry_on_the_page():
    assert [path for path in entries() if entries().count(path) > 1] == []
    top = {path.removeprefix("fsnn_lava.") for path in entries() if path.count(".") == 1}
    assert top == set(fl.__all__)


def test_every_entry_and_public_member_has_a_docstring():
    assert [path for path, owner, value in documented() if not docstring(owner, path, value)] == []


def docstring(owner: Any, path: str, value: Any) -> str:
    return inspect.getdoc(value if owner is None else getattr(owner, path.rpartition(".")[2])) or ""


@pytest.mark.parametrize(("path", "owner", "value"), [pytest.param(*each, id=each[0]) for each in documented()])
def test_a_docstring_names_exactly_the_arguments(path, owner, value):
    text = docstring(owner, path, value)
    if inspect.isclass(value):
        check_class(value, text)
    elif not isinstance(value, property):
        assert names(text, "parameters") == parameters(value.__func__ if isinstance(value, staticmethod) else value)


def check_class(value: type, text: str) -> None:
    """A class that users instantiate documents its arguments; one that they only receive documents its attributes."""
    if issubclass(value, BaseException):
        return
    found = names(text, "parameters") or names(text, "attributes")
    assert found == ([f.name for f in fields(value)] if is_dataclass(value) else parameters(value))


@pytest.mark.parametrize("name", PUBLIC)
def test_a_function_says_what_it_returns_and_raises(name):
    value = getattr(fl, name)
    if inspect.isfunction(value):
        assert {"text", "parameters", "returns", "raises", "examples"} <= set(sections(inspect.getdoc(value) or ""))


def test_errors_named_by_docstrings_are_public_or_builtin():
    raised = {
        entry.annotation for path, owner, value in documented() for entry in sections(docstring(owner, path, value)).get("raises", [])
    }
    assert raised - set(fl.__all__) == {"KeyError"}


@pytest.fixture
def objects(tmp_path, monkeypatch) -> dict[str, Any]:
    """The objects that the examples assume, on a tiny network."""
    monkeypatch.chdir(tmp_path)
    write_checkpoint(tmp_path / "model_best.pth.tar", random_state("fc"))
    nir.write(tmp_path / "net.nir", nir_chain(lif(6, tau=5e-4, r=5.0)))
    torch.manual_seed(0)
    normalisation = fl.Normalisation(mean=(0.5,), std=(0.25,))
    net = fl.FSNN("4C3s (F4C3)", input_shape=(1, 4, 4), classes=3, norm="operator", normalisation=normalisation).eval()
    pixels = np.random.default_rng(0).integers(0, 256, (8, 1, 4, 4), dtype=np.uint8)
    chip = fl.quantise(net)
    result = fl.run(chip, pixels)
    verdict = fl.compare(result, chip, pixels)
    images, labels = torch.from_numpy(pixels), torch.arange(8) % 3
    return {
        "fl": fl, "torch": torch, "net": net, "pixels": pixels, "images": images, "labels": labels,
        "chip": chip, "result": result, "verdict": verdict,
    }  # fmt: skip


def examples() -> list[tuple[str, str]]:
    found = [(path, docstring(owner, path, value)) for path, owner, value in documented()]
    return [(path, text) for path, text in found if ">>> " in text]


@pytest.mark.parametrize(("path", "text"), [pytest.param(*each, id=each[0]) for each in examples()])
def test_the_example_of_a_docstring_runs(path, text, objects):
    said: list[str] = []
    example = doctest.DocTestParser().get_doctest(text, objects, path, None, None)
    outcome = doctest.DocTestRunner().run(example, out=said.append)
    assert outcome.attempted > 0 and outcome.failed == 0, "".join(said)


def test_the_main_names_have_an_example():
    shown = {path for path, _ in examples()}
    assert {f"fsnn_lava.{name}" for name in ("FSNN", "quantise", "ChipNetwork", "run", "Result", "compare", "Verdict", "place")} <= shown


def test_the_built_page_has_a_heading_for_every_entry_and_member(tmp_path):
    html = (build(tmp_path) / "api.html").read_text(encoding="utf-8")
    headings = set(re.findall(r'<h[2-5] id="([^"]+)"', html))
    own = {
        path
        for path, owner, value in documented()
        if owner is None or (value.__doc__ and vars(owner).get(path.rpartition(".")[2]) is value)
    }
    assert len(own) > 80
    assert sorted((own | set(entries())) - headings) == []
    assert not [heading for heading in headings if ".register_" in heading or ".state_dict" in heading]  # torch's
