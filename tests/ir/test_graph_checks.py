"""Network graphs: what is refused, and with which sentence; delays in the layers' own time and on the chip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.graph_checks import is_chain
from fsnn_lava.ir.network import ChipNetwork, DenseSynapse, Input, Layer, Readout
from tests.helpers.chip_networks import conv_network, dense_network, skip_network


def graph(*pairs: tuple[str, str], layers: int = 3, kind: str = "pixels") -> ChipNetwork:
    """Dense layers a, b, c, … of two neurons."""
    names = "abcdef"[:layers]
    return ChipNetwork(
        input=Input(kind=kind, shape=(2,)),  # type: ignore[arg-type]
        layers=tuple(Layer(name=name, shape=(2,), threshold=5, bias=np.zeros(2, int), scale=1.0) for name in names),
        synapses=tuple(DenseSynapse(source=source, target=target, weight=np.ones((2, 2), int)) for source, target in pairs),
        readout=Readout(weight=np.ones((2, 2), int), bias=np.zeros(2, int), scale=1.0),
        steps=3,
    )


CHAIN = (("input", "a"), ("a", "b"), ("b", "c"))


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ((("input", "a"), ("a", "c"), ("b", "a"), ("input", "b")), r"'b' -> 'a'.*closes no cycle.*nothing leads from 'a' to 'b'"),
        ((("input", "a"), ("b", "c"), ("c", "b")), r"layer 'b': no connection leads to it from the input"),
        ((("input", "a"), ("a", "b")), r"layer 'c': no connection leads to it"),
        ((*CHAIN, ("c", "d")), r"there is no layer 'd'"),
    ],
)
def test_a_graph_without_meaning_is_refused(pairs, sentence):
    with pytest.raises(BadNetwork, match=sentence):
        graph(*pairs)


def test_any_other_graph_is_accepted():
    loops = (("c", "a"), ("b", "b"), ("c", "c"), ("c", "b"))
    chip = graph(*CHAIN, ("a", "c"), ("input", "c"), ("a", "c"), *loops)
    assert len(chip.feedback) == 4
    assert not is_chain(chip)
    assert is_chain(graph(*CHAIN, *loops))


def test_a_layer_may_be_fed_by_feedback_alone():
    chip = graph(("input", "b"), ("b", "c"), ("c", "a"), ("a", "b"))
    assert not is_chain(chip)
    assert chip.delay(chip.synapses[2]) == 3


def test_the_hosts_drive_leaves_no_connection_to_the_input():
    chip = dense_network(kind="current")
    extra = DenseSynapse(source="input", target="l1", weight=np.ones((5, 7), int))
    with pytest.raises(BadNetwork, match="no connection may come from 'input'"):
        replace(chip, synapses=(*chip.synapses, extra))


def test_delays_in_own_time_and_on_the_chip():
    chip = graph(*CHAIN, ("a", "c"), ("input", "c"), ("c", "a"), ("b", "b"))
    assert [chip.delay(s) for s in chip.synapses] == [0, 0, 0, 0, 0, 3, 1]
    assert [chip.chip_delay(s) for s in chip.synapses] == [1, 1, 1, 2, 3, 1, 1]


def test_chains_are_those_that_every_version_could_hold():
    assert is_chain(dense_network()) and is_chain(dense_network(kind="current")) and is_chain(conv_network())
    assert not is_chain(skip_network())


def test_a_dilation_of_1_does_not_change_the_digest_and_another_does():
    chip = conv_network()
    assert chip.digest() == "885e86a5c8fe3efae0ff9d79059d1444276b7ab50c93164f03eb81b25a585b66"
    wide = replace(chip.synapses[0], dilation=(2, 1), padding=(2, 2))
    assert replace(chip, synapses=(wide, *chip.synapses[1:])).digest() != chip.digest()
