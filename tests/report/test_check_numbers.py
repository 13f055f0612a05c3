"""Numbers in a page: short, readable, escaped."""

from __future__ import annotations

import pytest

from fsnn_lava.report.check_numbers import check_numbers_html
from fsnn_lava.report.number_text import number_text
from fsnn_lava.report.tables import facts_html, table_html


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (True, "yes"), (False, "no"), (9999, "9999"), (10000, "10,000"), (-123456, "-123,456"), (0.123456, "0.1235"),
        (1e-9, "1e-09"), ([1, 2], "1 … 2"), ([1, 2, 30000], "1, 2, 30,000"), ([], "none"), ("a", "a"),
    ],
)  # fmt: skip
def test_a_value_is_short_text(value, text):
    assert number_text(value) == text


def test_names_and_values_are_escaped_and_long_ones_come_last():
    page = facts_html([("long", "x" * 49), ("<b>", "a & b"), ("exact", "y" * 48)])
    assert page.startswith("<dl") and "<b>" not in page
    assert [page.index(text) for text in ("&lt;b&gt;", "exact", "long")] == sorted(
        page.index(text) for text in ("&lt;b&gt;", "exact", "long")
    )
    assert page.count('class="long"') == 1
    assert facts_html([]) == ""


def test_rows_of_dictionaries_become_a_table_with_every_column_once():
    page = check_numbers_html({"share_of_bound": 0.5, "layers": [{"layer": "l1", "shift_max": 1}, {"layer": "<l2>", "more": 2}]})
    assert "<dt>share of bound</dt><dd>0.5</dd>" in page and "<h4>layers</h4>" in page
    assert [part.partition("<")[0] for part in page.split('<th scope="col">')[1:]] == ["layer", "shift max", "more"]
    assert "<tr><td>&lt;l2&gt;</td><td>–</td><td>2</td></tr>" in page
    assert "<tr><td>1</td><td>5</td><td>6</td></tr>" in check_numbers_html({"confusion": [[5, 6]]})
    assert table_html("<t>", ["<a>"], []).count("&lt;a&gt;") == 1
    assert "Table: &lt;t&gt;" in table_html("<t>", [], [])
