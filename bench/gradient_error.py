"""Measure the error of the gradient against the number of vector–Jacobian products, by solver. The default tolerance was chosen from this.

    python bench/gradient_error.py [NAME …] [--data DIR] [--samples N] [--json FILE]

NAME is a trained network in examples/models (default: all). The gradient of the loss with respect to all parameters, on the first N
training images and without dropout, is compared with that of the same system solved to 1e-6. The error is the norm of the difference
divided by the norm of the gradient.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as nnf

import fsnn_lava as fl
from fsnn_lava.data import load
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.models.find import find_model, shipped_models
from fsnn_lava.nn.fsnn import FSNN

SOLVERS = {
    "none": [fl.Solver(max_steps=0)],
    "gmres": [fl.Solver(method="gmres", tol=tol, max_steps=60) for tol in (1e-1, 1e-2, 5e-3, 1e-3, 1e-4)],
    "anderson": [fl.Solver(method="anderson", tol=tol, max_steps=60) for tol in (1e-1, 1e-2, 5e-3, 1e-3, 1e-4)],
    "fixed-point": [fl.Solver(method="fixed-point", tol=tol, max_steps=60) for tol in (1e-2, 1e-3)],
    "damped": [fl.Solver(method="damped", tol=tol, max_steps=60) for tol in (1e-2, 1e-3)],
    "broyden": [fl.Solver(method="broyden", tol=tol, max_steps=60) for tol in (1e-2, 1e-3)],
}
EXACT = fl.Solver(method="gmres", tol=1e-6, max_steps=300)


def gradient(net: FSNN, images: torch.Tensor, labels: torch.Tensor, solver: fl.Solver) -> torch.Tensor:
    """Return the gradient [parameters] of the mean loss, in training mode with dropout 0; batch-norm statistics are not changed."""
    kept = {name: value.clone() for name, value in net.state_dict().items()}
    net.solver = solver
    net.zero_grad()
    nnf.cross_entropy(net(images), labels).backward()
    found = torch.cat([p.grad.flatten() for p in net.parameters() if p.grad is not None])
    net.load_state_dict(kept)
    return found


def errors(name: str, root: Path | None, samples: int) -> list[dict[str, Any]]:
    path = find_model(name)
    net = FSNN.load(path.with_name("model.pt"))
    data = load(ChipNetwork.load(path).notes["data"], root).train
    images, labels = torch.from_numpy(data.batch(slice(0, samples))), torch.from_numpy(data.labels[:samples]).long()
    net.dropout = 0.0
    net.train()
    exact = gradient(net, images, labels, EXACT)
    print(f"{net.architecture.text}, trained on {name}, {samples} images: error of the gradient by number of products")
    rows = []
    for method, settings in SOLVERS.items():
        for solver in settings:
            found = gradient(net, images, labels, solver)
            steps = net.last_solve[0] if net.last_solve else 0
            rows.append({"network": name, "method": method, "tol": solver.tol if solver.max_steps else None, "products": steps})
            rows[-1]["error"] = float((found - exact).norm() / exact.norm())
            print(
                f"  {method:12s} tol {solver.tol if solver.max_steps else '-':<8}  {steps:3d} products  error {rows[-1]['error']:.1e}",
                flush=True,
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder that contains the data sets (default: $FSNN_DATA)")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    rows = []
    for name in args.names or shipped_models():
        rows += errors(name, args.data, args.samples)
    if args.json:
        args.json.write_text(json.dumps({"rows": rows}, indent=1))


if __name__ == "__main__":
    main()
