"""Loading by name: where a data set is searched for, the message if it is missing, and the digits, which need no file."""

from __future__ import annotations

import pytest

from fsnn_lava.data import load
from fsnn_lava.errors import BadArgument


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(BadArgument, match=r"no data set 'minst' \(did you mean 'mnist'\?\): use one of digits, mnist"):
        load("minst")
