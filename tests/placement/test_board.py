"""Boards: every number has a source, and a file of the user's own is checked."""

from __future__ import annotations

import re

import pytest

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.placement.board import FOLDER, board_names, load_board
from fsnn_lava.placement.placement import place
from tests.helpers.chip_networks import dense_network


def test_boards_have_a_source_for_every_number_and_say_what_is_unknown():
    assert board_names() == ("oheo-gulch", "kapoho-point", "hala-point")
    assert [load_board(name).cores for name in board_names()] == [120, 960, 138240]
    for name in board_names():
        board = load_board(name)
        assert all(len(source) > 10 for source in board.sources.values())
        assert "axons_out_per_core" in board.unknown


def test_an_unknown_board_is_answered_with_the_known_ones():
    with pytest.raises(
        BadArgument, match=r"unknown board 'kapoho' \(did you mean 'kapoho-point'\?\): use one of oheo-gulch, kapoho-point, hala-point"
    ):
        place(dense_network(), board="kapoho")


def test_a_board_of_your_own_is_read_from_a_file_and_checked(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text((FOLDER / "template.toml").read_text().replace('"template"', '"own"').replace("value = 1\n", "value = 3\n"))
    assert (load_board(own).name, load_board(str(own)).cores) == ("own", 360)
    own.write_text('name = "own"\nchip = "loihi2"\n[chips]\nvalue = "unknown"\nsource = "nobody knows"\n')
    with pytest.raises(BadFile, match="chips must be an integer of at least 1, got 'unknown'"):
        load_board(own)
    own.write_text('name = "own"\nchip = "loihi2"\n[chips]\nvalue = 1\n')
    with pytest.raises(BadFile, match="chips must have a value and a source"):
        load_board(own)
    own.write_text("name = ")
    with pytest.raises(BadFile, match="is not a TOML file"):
        load_board(own)
    with pytest.raises(BadFile, match=r"none\.toml"):
        load_board(tmp_path / "none.toml")


def test_a_number_of_a_board_file_may_be_as_large_as_its_limit_and_no_larger(tmp_path):
    text = (FOLDER / "oheo-gulch.toml").read_text()
    for value, refused in ((2**40, False), (2**40 + 1, True)):
        path = tmp_path / f"{value}.toml"
        path.write_text(re.sub(r"value = \d+", f"value = {value}", text, count=1))
        if refused:
            with pytest.raises(BadFile, match="must be an integer of at least 1"):
                load_board(path)
        else:
            load_board(path)
