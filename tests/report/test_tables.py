"""The data of a panel as CSV."""

from __future__ import annotations

import csv
import io

from fsnn_lava.report.tables import Table


def test_the_csv_reads_back_with_quotes_and_nine_digits():
    table = Table(columns=("layer, name", "rate"), rows=[['a "quoted" one', 1 / 3], ["b\nc", 7], ["d", None]])
    rows = list(csv.reader(io.StringIO(table.csv())))
    assert rows == [["layer, name", "rate"], ['a "quoted" one', "0.333333333"], ["b\nc", "7"], ["d", ""]]
    assert "\r" not in table.csv()
