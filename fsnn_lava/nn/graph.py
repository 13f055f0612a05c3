"""A network graph as plain data: named layers in order, and the connections between them (E13).

A connection to a later layer goes forward; one to the same or an earlier layer is feedback. The input may enter any layer, and the
readout is on the last one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from numbers import Integral, Real
from typing import Literal, cast, get_args

from fsnn_lava.errors import BadArchitecture
from fsnn_lava.nn.layer_shape import SIZE_MAX, layer_shape
from fsnn_lava.nn.operators import Convolution, Dense, Operator, Pair, Shape, TransposedConvolution

INPUT = "input"
READOUT = "readout"
DIAGONAL_MAX = 4096  # neurons
ConnectionKind = Literal["dense", "conv", "transposed", "pool", "identity"]
CONNECTION_KINDS: tuple[ConnectionKind, ...] = get_args(ConnectionKind)
FIXED_KINDS = ("pool", "identity")  # kinds that have no weights to learn
_PARAMETERS: dict[str, tuple[str, ...]] = {  # by kind, besides source and target
    "dense": ("batch_norm", "limit"),
    "conv": ("kernel", "stride", "padding", "dilation", "groups", "pool", "batch_norm", "limit"),
    "transposed": ("kernel", "stride", "padding", "batch_norm", "limit"),
    "pool": ("kernel", "stride", "padding", "gain", "batch_norm"),
    "identity": ("gain", "batch_norm"),
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Neurons:
    """A layer of a graph.

    Args:
        name: letters, digits, "_" and "-", starting with a letter; not "input" or "readout".
        shape: (N,) or (C, H, W); a number is short for (N,).
        vth: the layer's threshold; None takes that of the network.

    Raises:
        BadArchitecture: the name, the shape or the threshold is not valid.
    """

    name: str
    shape: int | Sequence[int]
    vth: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name) or len(self.name) > 64:
            raise BadArchitecture(
                f"a layer's name must be up to 64 letters, digits, '_' and '-', starting with a letter, got {str(self.name)[:80]!r}"
            )
        if self.name in (INPUT, READOUT):
            raise BadArchitecture(f"a layer cannot be called {self.name!r}: that name is reserved")
        object.__setattr__(self, "shape", layer_shape(self.shape, f"layer {self.name!r}"))
        if self.vth is not None:
            if not isinstance(self.vth, Real) or isinstance(self.vth, bool) or not 0 < self.vth < math.inf:
                raise BadArchitecture(f"layer {self.name!r}: vth must be a positive number, got {self.vth!r}")
            object.__setattr__(self, "vth", float(self.vth))

    @property
    def out_shape(self) -> Shape:
        """(N,) or (C, H, W)."""
        return cast(Shape, self.shape)

    @property
    def size(self) -> int:
        """Number of neurons."""
        return prod(self.out_shape)


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A connection of a graph. Sizes are given as one number for rows and columns, or as a pair (rows, columns).

    Args:
        source: a layer's name, or "input".
        target: a layer's name.
        kind: "dense", "conv" (convolution), "transposed" (transposed convolution), "pool" (average pooling) or "identity" (a skip).
        kernel: of "conv", "transposed" and "pool".
        stride: by default 1 for "conv", 2 for "transposed", and the kernel for "pool".
        padding: zeros on every side. By default "same" padding, half of an odd kernel; 0 for "pool". Even kernels need an explicit one.
        dilation: of "conv": distance between the taps of the kernel.
        groups: of "conv": channels are split into this many groups; with as many groups as channels, it is depthwise.
        pool: of "conv": its current is averaged over squares of this side before the neurons see it.
        gain: of "pool" and "identity": what the rates are multiplied by.
        batch_norm: None follows the network's option, except for "pool" and "identity", which have none by default. Feedback never has any.
        limit: of feedback: alpha is kept in [-limit, limit] (E6); None takes the network's.

    Raises:
        BadArchitecture: a value is out of range, or does not belong to this kind.

    Examples:
        >>> fl.Connection(source="a", target="b", kind="conv", kernel=3, stride=2).padding
        (1, 1)
    """

    source: str
    target: str
    kind: ConnectionKind = "dense"
    kernel: int | Pair = 1
    stride: int | Pair | None = None
    padding: int | Pair | None = None
    dilation: int | Pair = 1
    groups: int = 1
    pool: int = 1
    gain: float = 1.0
    batch_norm: bool | None = None
    limit: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in CONNECTION_KINDS:
            raise BadArchitecture(f"{self}: kind must be one of {', '.join(CONNECTION_KINDS)}, got {self.kind!r}")
        self._check_parameters()
        for name in ("kernel", "dilation"):
            object.__setattr__(self, name, self._pair(name, getattr(self, name), low=1))
        kernel = cast(Pair, self.kernel)
        stride = self.stride if self.stride is not None else {"transposed": (2, 2), "pool": kernel}.get(self.kind, (1, 1))
        object.__setattr__(self, "stride", self._pair("stride", stride, low=1))
        object.__setattr__(self, "padding", self._pair("padding", self._padding(), low=0))
        for name in ("groups", "pool"):
            self._check_size(name, getattr(self, name), low=1)
        if not isinstance(self.gain, Real) or not math.isfinite(self.gain) or self.gain == 0:
            raise BadArchitecture(f"{self}: gain must be a finite number other than 0, got {self.gain!r}")
        if self.limit is not None and not (isinstance(self.limit, Real) and 0 < self.limit < math.inf):
            raise BadArchitecture(f"{self}: limit must be a positive number, got {self.limit!r}")

    def __str__(self) -> str:
        return f"connection {self.source!r} -> {self.target!r}"

    @property
    def fixed(self) -> bool:
        """Whether the connection has no weights to learn."""
        return self.kind in FIXED_KINDS

    def _check_parameters(self) -> None:
        defaults = {"kernel": 1, "stride": None, "padding": None, "dilation": 1, "groups": 1, "pool": 1, "gain": 1.0}
        for name, default in (*defaults.items(), ("limit", None)):
            value = getattr(self, name)
            if name not in _PARAMETERS[self.kind] and value != default and value not in ((1, 1), (0, 0)):
                owners = ", ".join(kind for kind, names in _PARAMETERS.items() if name in names)
                raise BadArchitecture(f"{self}: {name} belongs to connections of kind {owners}, not to {self.kind!r}")

    def _padding(self) -> int | Pair:
        if self.padding is not None:
            return self.padding
        if self.kind == "pool":
            return 0
        kernel, dilation = cast(Pair, self.kernel), cast(Pair, self.dilation)
        spans = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        if any(span % 2 for span in spans):
            raise BadArchitecture(
                f"{self}: an even kernel ({kernel[0]} x {kernel[1]}) has no 'same' padding; set it, for example padding={max(spans) // 2}"
            )
        return spans[0] // 2, spans[1] // 2

    def _pair(self, name: str, value: object, *, low: int) -> Pair:
        both = (value, value) if isinstance(value, Integral) else value
        if not isinstance(both, (tuple, list)) or len(both) != 2:
            raise BadArchitecture(f"{self}: {name} must be a whole number or a pair (rows, columns), got {value!r}")
        return self._check_size(name, both[0], low=low), self._check_size(name, both[1], low=low)

    def _check_size(self, name: str, value: object, *, low: int) -> int:
        if not isinstance(value, Integral) or isinstance(value, bool) or not low <= int(value) <= SIZE_MAX:
            raise BadArchitecture(f"{self}: {name} must be a whole number of at least {low}, got {value!r}")
        return int(value)

    def made_shape(self, source: Shape, channels: int) -> Shape:
        """Return the output shape for a source, before `pool`.

        Args:
            source: (N,) or (C, H, W).
            channels: of the target; for a dense connection, its number of neurons.

        Returns:
            A transposed convolution multiplies rows and columns by its stride.
        """
        if self.kind == "dense":
            return (channels,)
        if self.kind == "identity" or len(source) != 3:
            return source
        kernel, stride, padding, dilation = (cast(Pair, getattr(self, name)) for name in ("kernel", "stride", "padding", "dilation"))
        if self.kind == "transposed":
            return (channels, source[1] * stride[0], source[2] * stride[1])
        sizes = zip(source[1:], kernel, stride, padding, dilation, strict=True)
        return (channels, *((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes))

    def operator(self, source: Shape, target: Shape) -> Operator:
        """Return the linear operation between two shapes, before `pool`.

        Args:
            source: (N,) or (C, H, W).
            target: (N,) or (C, H, W).

        Raises:
            BadArchitecture: the connection does not fit between them.
        """
        made = self._operator(source, target)
        if min(made.out_shape) < 1:
            raise BadArchitecture(f"{self}: there is no output for a source of shape {source}; use a smaller kernel, or more padding")
        pooled = made.pooled(self.pool) if self.pool > 1 and isinstance(made, Convolution) else made
        if self.pool > 1 and any(n % self.pool for n in made.out_shape[1:]):
            raise BadArchitecture(f"{self}: {made.out_shape[1]} x {made.out_shape[2]} cannot be pooled by {self.pool} without a remainder")
        if pooled.out_shape != target:
            raise BadArchitecture(f"{self}: its output has shape {pooled.out_shape}, but layer {self.target!r} has shape {target}")
        return made

    def _operator(self, source: Shape, target: Shape) -> Operator:
        kernel, stride, padding = cast(Pair, self.kernel), cast(Pair, self.stride), cast(Pair, self.padding)
        if self.kind == "dense":
            if len(target) != 1:
                raise BadArchitecture(f"{self}: a dense connection ends in a layer of shape (N,), got {target}; use a convolution")
            return Dense(in_shape=source, channels=target[0])
        if self.kind == "identity":
            return self._identity(source, target)
        if len(source) != 3 or len(target) != 3:
            raise BadArchitecture(f"{self}: kind {self.kind!r} needs (C, H, W) on both sides, got {source} and {target}; use 'dense'")
        if self.kind == "transposed":
            return self._transposed(source, target)
        groups = source[0] if self.kind == "pool" else self.groups
        if self.kind == "pool" and target[0] != source[0]:
            raise BadArchitecture(f"{self}: pooling keeps the {source[0]} channels of its source, but the target has {target[0]}")
        if source[0] % groups or target[0] % groups:
            raise BadArchitecture(f"{self}: {groups} groups must divide both the {source[0]} source and the {target[0]} target channels")
        dilation = cast(Pair, self.dilation)
        return Convolution(
            in_shape=source, channels=target[0], kernel=kernel, stride=stride, padding=padding, groups=groups, dilation=dilation
        )

    def _identity(self, source: Shape, target: Shape) -> Operator:
        if source != target:
            raise BadArchitecture(f"{self}: an identity needs equal shapes, got {source} and {target}; use a 1 x 1 convolution or pooling")
        if len(source) == 1:
            if source[0] > DIAGONAL_MAX:
                raise BadArchitecture(
                    f"{self}: an identity between layers without channels is stored as a diagonal matrix, for at most {DIAGONAL_MAX} "
                    f"neurons, got {source[0]}; give both layers the shape ({source[0]}, 1, 1)"
                )
            return Dense(in_shape=source, channels=source[0])
        return Convolution(in_shape=source, channels=source[0], kernel=(1, 1), groups=source[0])

    def _transposed(self, source: Shape, target: Shape) -> Operator:
        """Return a transposed convolution; rows and columns are added at the end if the target is larger by less than a stride."""
        kernel, stride, padding = cast(Pair, self.kernel), cast(Pair, self.stride), cast(Pair, self.padding)
        made = TransposedConvolution(in_shape=source, channels=target[0], kernel=kernel, stride=stride, padding=padding)
        rest = [out - n for out, n in zip(target[1:], made.out_shape[1:], strict=True)]
        if all(0 <= r < s for r, s in zip(rest, stride, strict=True)):
            made = TransposedConvolution(
                in_shape=source, channels=target[0], kernel=kernel, stride=stride, padding=padding, output_padding=(rest[0], rest[1])
            )
        return made


@dataclass(frozen=True)
class Graph:
    """Named layers in order, and any connections between them (E13). It is checked when it is created.

    A connection from a layer to a later one, or from "input", goes forward; one to the same or an earlier layer is feedback, which must
    close a cycle. Several connections into a layer add up. The readout is on the last layer. For a chain of layers with a few loops and
    skips, the notation that `FSNN` takes is shorter.

    Args:
        input_shape: (N,) or (C, H, W), without batch and time.
        layers: in order; the last one is read out.
        connections: in any order.

    Raises:
        BadArchitecture: the message says what does not fit, and what would.

    Examples:
        >>> graph = fl.Graph(
        ...     input_shape=(1, 8, 8),
        ...     layers=[fl.Neurons("a", (4, 4, 4)), fl.Neurons("b", (4, 4, 4), vth=1.0)],
        ...     connections=[
        ...         fl.Connection(source="input", target="a", kind="conv", kernel=3, stride=2),
        ...         fl.Connection(source="a", target="b", kind="conv", kernel=3),
        ...         fl.Connection(source="a", target="b", kind="identity"),
        ...         fl.Connection(source="b", target="a", kind="conv", kernel=3),
        ...     ],
        ... )
        >>> net = fl.FSNN(graph, classes=3)
    """

    input_shape: int | Sequence[int]
    layers: Sequence[Neurons]
    connections: Sequence[Connection]

    def __post_init__(self) -> None:
        from fsnn_lava.nn.graph_checks import check_graph

        object.__setattr__(self, "input_shape", layer_shape(self.input_shape, "the input"))
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "connections", tuple(self.connections))
        check_graph(self)

    @property
    def source_shape(self) -> Shape:
        """The shape of the input, (N,) or (C, H, W)."""
        return cast(Shape, self.input_shape)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Position of every layer, from 0; -1 for the input."""
        return {INPUT: -1, **{layer.name: index for index, layer in enumerate(self.layers)}}

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shape of every layer."""
        return tuple(layer.out_shape for layer in self.layers)

    def shape(self, name: str) -> Shape:
        """Return the shape of a layer or of the input.

        Args:
            name: of a layer, or "input".
        """
        return self.source_shape if name == INPUT else self.layers[self.positions[name]].out_shape

    def ends(self, connection: Connection) -> tuple[int, int]:
        """Return the positions of source and target, from 0; -1 for the input.

        Args:
            connection: one of `connections`.
        """
        return self.positions[connection.source], self.positions[connection.target]

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Positions of source and target of every connection."""
        return tuple(self.ends(one) for one in self.connections)

    def operator(self, connection: Connection) -> Operator:
        """Return the linear operation of a connection, before its pooling.

        Args:
            connection: one of `connections`.
        """
        return connection.operator(self.shape(connection.source), self.shape(connection.target))

    def is_forward(self, connection: Connection) -> bool:
        """Return whether a connection goes to a later layer; otherwise it is feedback.

        Args:
            connection: one of `connections`.
        """
        source, target = self.ends(connection)
        return source < target

    @cached_property
    def forward(self) -> tuple[Connection, ...]:
        """All forward connections, sorted by target, otherwise in the order given."""
        found = [one for one in self.connections if self.is_forward(one)]
        return tuple(sorted(found, key=lambda one: self.positions[one.target]))

    @cached_property
    def feedback(self) -> tuple[Connection, ...]:
        """All connections to the same or an earlier layer, in the order given."""
        return tuple(one for one in self.connections if not self.is_forward(one))

    @cached_property
    def sources(self) -> tuple[int, ...]:
        """Positions of the layers whose rates determine all others: where feedback starts; the last layer if there is no feedback."""
        return tuple(sorted({self.positions[one.source] for one in self.feedback})) or (len(self.layers) - 1,)

    @cached_property
    def stages_into(self) -> tuple[tuple[int, ...], ...]:
        """For each layer, the indices of the connections in `forward` that end there."""
        return self._into(self.forward)

    @cached_property
    def feedbacks_into(self) -> tuple[tuple[int, ...], ...]:
        """For each layer, the indices of the connections in `feedback` that end there."""
        return self._into(self.feedback)

    def _into(self, connections: tuple[Connection, ...]) -> tuple[tuple[int, ...], ...]:
        targets = [one.target for one in connections]
        return tuple(tuple(i for i, target in enumerate(targets) if target == layer.name) for layer in self.layers)

    @cached_property
    def is_chain(self) -> bool:
        """Whether it is the paper's network: each layer is fed only by the one before it, and the first also by the last."""
        path = [self.ends(one) for one in self.forward] == [(i - 1, i) for i in range(len(self.layers))]
        back = [self.ends(one) for one in self.feedback] in ([], [(len(self.layers) - 1, 0)])
        return path and back and not any(one.fixed for one in self.forward)
