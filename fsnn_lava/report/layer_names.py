"""Name a layer for the report: by its name in the file, and by its kind and size, which the reader will recognise."""

from __future__ import annotations

from fsnn_lava.ir.network import ChipNetwork, DenseSynapse, Layer


def layer_kind_name(chip: ChipNetwork, layer: Layer) -> str:
    """Return a name such as `dense 400`, or `conv 32, 4 × 4`: channels, then height and width of the layer."""
    if len(layer.shape) == 1:
        return f"dense {layer.shape[0]}"
    channels, height, width = layer.shape
    dense = [isinstance(synapse, DenseSynapse) for synapse in chip.into(layer) if chip.is_forward(synapse)]
    return f"{'dense' if dense and all(dense) else 'conv'} {channels}, {height} × {width}"


def layer_title(chip: ChipNetwork, layer: Layer) -> str:
    """Return the title of a layer, such as `l1 · conv 32, 4 × 4`."""
    return f"{layer.name} · {layer_kind_name(chip, layer)}"


def neuron_name_in_layer(layer: Layer, index: int) -> str:
    """Name a neuron for the report: `neuron 17` in a dense layer, `channel 3, row 1, column 0` in others; `index` counts flat."""
    if len(layer.shape) == 1:
        return f"neuron {index}"
    _, height, width = layer.shape
    channel, place = divmod(index, height * width)
    return f"channel {channel}, row {place // width}, column {place % width}"
