"""Plot the confusion matrix: which classes are mistaken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.result import Result
from fsnn_lava.plot.axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUMBERED = 20  # with more classes, only the colours are drawn


def confusion(answers: Result | ArrayLike, labels: ArrayLike, *, class_names: Sequence[str] = (), axes: Axes | None = None) -> Axes:
    """Plot how often each class got each answer: rows are labels, columns are answers.

    Args:
        answers: the Result of a run, or class indices [B], for example `logits.argmax(1)`.
        labels: class indices [B].
        class_names: one per class; by default the numbers.
        axes: where to draw; by default a new figure.

    Returns:
        The axes; its title is the accuracy.

    Raises:
        BadArgument: answers and labels do not match, or a label has no name.
        PackageMissing: matplotlib is not installed.

    Examples:
        >>> axes = fl.plot.confusion([0, 1, 1], [0, 1, 2])
        >>> axes.get_title()
        '2 of 3 correct (66.67%)'
    """
    given = np.asarray(answers.predictions if isinstance(answers, Result) else answers)
    wanted = np.asarray(labels)
    if given.dtype.kind not in "iu":
        raise BadArgument(f"answers must be the Result of a run, or class numbers [B], got {type(answers).__name__} of {given.dtype}")
    if given.ndim != 1 or given.shape != wanted.shape or not given.size:
        raise BadArgument(f"answers and labels must both have shape [B], got {list(given.shape)} answers and {list(wanted.shape)} labels")
    classes = max(1 + int(max(given.max(), wanted.max())), len(class_names))
    if min(given.min(), wanted.min()) < 0 or (class_names and classes > len(class_names)):
        raise BadArgument(f"class numbers must be between 0 and {len(class_names or range(classes)) - 1}")
    counts = np.zeros((classes, classes), np.int64)
    np.add.at(counts, (wanted, given), 1)
    drawn = axes_or_new(axes)
    drawn.imshow(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), cmap="Blues", vmin=0.0, vmax=1.0)
    if classes <= NUMBERED:
        for label, answer in np.argwhere(counts > 0):
            dark = 2 * counts[label, answer] > counts[label].sum()
            drawn.text(answer, label, str(counts[label, answer]), ha="center", va="center", color="white" if dark else "black")
        names = [str(name) for name in class_names or range(classes)]
        drawn.set_xticks(range(classes), names, rotation=90 if max(map(len, names)) > 2 else 0)
        drawn.set_yticks(range(classes), names)
    right = int(np.trace(counts))
    drawn.set(xlabel="answer", ylabel="label", title=f"{right} of {len(given)} correct ({right / len(given):.2%})")
    return drawn
