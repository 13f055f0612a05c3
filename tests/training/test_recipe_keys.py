"""Tables of a TOML file: what is written reads back equal, whatever characters a text contains."""

from __future__ import annotations

import dataclasses

import pytest

from fsnn_lava.errors import BadFile
from fsnn_lava.files.toml import parse_toml
from fsnn_lava.training.recipe_keys import key_rule, nested_keys, print_keys, read_keys


@dataclasses.dataclass(frozen=True)
class Inner:
    rate: float = key_rule(float, 0.5, low=0.0, high=1.0, open_high=True)
    steps: tuple[int, ...] = key_rule(int, (), low=1, many=True)


@dataclasses.dataclass(frozen=True)
class Outer:
    name: str = key_rule(str)
    fast: bool = key_rule(bool, False)
    inner: Inner = dataclasses.field(default_factory=Inner, metadata=nested_keys(Inner))
    other: Inner | None = dataclasses.field(default=None, metadata=nested_keys(Inner))


@pytest.mark.parametrize("name", ["plain", "two\nlines", "tab\t", 'quo"te', "back\\slash", "\u0000\u001f\u007f", "é 猫", "\r\n", "'''", ""])
def test_a_table_reads_back_equal(name: str) -> None:
    table = Outer(name=name, fast=True, inner=Inner(rate=1e-05, steps=(3, 10**12)), other=Inner(rate=0.1 + 0.2))
    assert read_keys(Outer, parse_toml(print_keys(table), where="test"), where="test") == table


def test_a_table_that_is_not_given_is_not_written() -> None:
    text = print_keys(Outer(name="a"))
    assert "other" not in text
    assert read_keys(Outer, parse_toml(text, where="test"), where="test") == Outer(name="a")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nam = 'a'", "unknown key 'nam'; did you mean 'name'"),
        ("fast = true", "key 'name' is missing; it must be text"),
        ("name = 'a'\nfast = 1", "'fast' must be true or false, got 1"),
        ("name = 'a'\ninner.rate = 1.0", "'inner.rate' must be a number >= 0 and < 1, got 1.0"),
        ("name = 'a'\ninner.rate = nan", "'inner.rate' must be a number >= 0 and < 1, got nan"),
        ("name = 'a'\ninner.steps = [1, 0]", r"'inner.steps' must be a list, each a whole number >= 1, got \[1, 0\]"),
        ("name = 'a'\ninner = 3", r"'inner' must be a table, got 3; write its keys under \[inner\]"),
    ],
)
def test_a_wrong_value_is_refused_by_its_key(text: str, sentence: str) -> None:
    with pytest.raises(BadFile, match=f"test: {sentence}"):
        read_keys(Outer, parse_toml(text, where="test"), where="test")
