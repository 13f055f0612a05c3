"""The trade-offs as a picture."""

import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.report import svg_figure
from fsnn_lava.tuning.front_plot import draw_front, write_front
from tests.tuning.test_choice import trial


@pytest.mark.parametrize("energy", [(1e-6, 4e-6), None])
def test_all_trials_are_drawn_and_the_chosen_one_is_marked(energy):
    trials = [trial(4, energy=energy, operations=50.0), trial(8, right=95, energy=energy), trial(2, failure="too large")]
    with svg_figure.report_figure_style():
        axes = draw_front(trials, trials[:2], trials[1], reference=0.96).axes[0]
    drawn = [tuple(map(float, point)) for points in axes.collections for point in points.get_offsets()]
    place = 2.0 if energy else 100.0  # the geometric middle of 1 and 4 uJ, or operations
    assert drawn.count((place, 95.0)) == 3  # as one of all, on the front, chosen
    assert ("energy" in axes.get_xlabel()) == (energy is not None)


@pytest.mark.parametrize(("right", "lowest", "highest"), [((99, 98), 97.9, 99.1), ((99, 20), 86.04, 99.96)], ids=["close", "far apart"])
def test_the_accuracies_fill_the_picture_except_those_far_below_the_best(right, lowest, highest):
    trials = [trial(4 + number, right=number) for number in right]  # of 100
    with svg_figure.report_figure_style():
        axes = draw_front(trials, trials, None, reference=0.985).axes[0]
    # the margin is 8 % of the range, which is at most 12 points, but at least 0.1 points
    assert axes.get_ylim() == pytest.approx((lowest, highest))


def test_the_picture_is_written_by_its_suffix(tmp_path):
    trials = [trial(4), trial(8, right=95)]
    write_front(tmp_path / "front.svg", trials, trials, None, reference=0.9)
    assert "<svg" in (tmp_path / "front.svg").read_text()
    with pytest.raises(BadArgument, match=r"front\.gif: the name of a picture must end in \.png, \.svg, \.pdf"):
        write_front(tmp_path / "front.gif", trials, trials, None, reference=0.9)
