"""The table of a placement as text, with the columns of the Loihi 2 compiler's "Per core utilization" table."""

from __future__ import annotations

from fsnn_lava.placement.placement import DISCLAIMER, PlacedLayer, Placement

_COLUMNS = ("AxonIn", "Neurons", "Synapses", "AxonMap", "AxonMem", "Total")


def placement_table(placement: Placement) -> str:
    """Return the table: the verdict, then per layer the fullest core's use, cores, tile and messages, and a note on the model."""
    header = "|" + "|".join(f"{name:>8}" for name in (*_COLUMNS, "Cores")) + "| layer"
    rule = "|" + "-" * (9 * (len(_COLUMNS) + 1) - 1) + "|"
    lines = [placement.verdict, "", "Per core utilization (fullest core of each layer):", header, rule]
    lines += [_row(layer, placement) for layer in placement.layers]
    total = "-" if placement.cores is None else str(placement.cores)
    lines += [rule, f"| Total{total:>56}|", ""]
    lines += [_messages(layer) for layer in placement.layers if layer.tiling is not None]
    lines += [*_forms(placement), *placement.delays]
    lines += ["", f"limiting resource: {placement.limiting}", DISCLAIMER]
    return "\n".join(lines)


def placement_table_by_core(placement: Placement) -> str:
    """Return a table with one line per occupied core."""
    lines = [f"{'chip':>5} {'core':>5}  {'layer':<10} {'tile from':<16} {'size':<16}" + "".join(f"{name:>10}" for name in _COLUMNS)]
    for core in placement.core_list():
        numbers = "".join(f"{value:>10}" for value in core.use.columns().values())
        lines.append(f"{core.chip:>5} {core.core:>5}  {core.layer:<10} {_shape(core.start):<16} {_shape(core.size):<16}{numbers}")
    return "\n".join(lines)


def _row(layer: PlacedLayer, placement: Placement) -> str:
    shares = layer.use.shares(placement.board)
    cores = "-" if layer.cores is None else str(layer.cores)
    cells = "|".join(f"{100 * shares[name]:>7.2f}%" for name in _COLUMNS)
    tile = "one neuron does not fit" if layer.tiling is None else f"tile {_shape(layer.tiling.tile)} of {_shape(layer.shape)}"
    return f"|{cells}|{cores:>8}| {layer.name}: {tile}, limited by {layer.use.tightest(placement.board)}"


def _messages(layer: PlacedLayer) -> str:
    sources = ", ".join(f"{source} ({form})" for source, form in layer.forms) or "no layer (static input is a bias)"
    messages = 0 if layer.tiling is None else layer.tiling.messages
    return f"{layer.name}: takes spikes from {sources}; at most {messages} messages per step, if every source neuron spikes"


def _forms(placement: Placement) -> list[str]:
    """Describe the two ways to store transposed convolutions; a layer packed by space-to-depth is listed with its packed shape."""
    if not placement.alternatives:
        return []
    cores = [(form, "no core can hold it" if cores is None else f"{cores} cores") for form, cores in placement.alternatives]
    options = ", ".join(f"as {form} {text}" for form, text in cores)
    return [f"transposed convolutions: {options} for the whole network; {placement.lowered} is used (fewer stored weights)"]


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(n) for n in shape)
