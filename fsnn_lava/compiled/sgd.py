"""One SGD step, gradient descent with momentum, in one pass over the weights."""

from __future__ import annotations

from typing import Any

from fsnn_lava.compiled.compiler import compiled


@compiled
def sgd_step(weights: Any, grads: Any, momenta: Any, rate: Any, momentum: Any, decay: Any) -> None:
    """Take an SGD step: momenta <- momentum * momenta + grads + decay * weights; weights <- weights - rate * momenta."""
    for i in range(len(weights)):
        speed = momentum * momenta[i] + (grads[i] + decay * weights[i])
        momenta[i] = speed
        weights[i] -= rate * speed
