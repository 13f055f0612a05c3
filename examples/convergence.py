"""Plot ‖f(a[t]) − a[t]‖ against t for IF and LIF neurons on dense, convolutional and deep networks (the paper's Fig. 2 and appendix G).

python examples/convergence.py convergence.png [--steps 1000]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from matplotlib.figure import Figure

import fsnn_lava as fl

ARCHITECTURES = {
    "400 (F400)": (1, 28, 28),
    "16C5s (F16C5)": (1, 28, 28),
    "16C3s-24C3-16C3s (F16C3u)": (3, 16, 16),
}


def residuals(architecture: str, shape: tuple[int, ...], neuron: fl.LIF, steps: int) -> torch.Tensor:
    """Return pairs [t, norm of f(a[t]) - a[t] in the last layer], averaged over 8 random inputs."""
    torch.manual_seed(0)
    net = fl.FSNN(architecture, input_shape=shape, classes=10, neuron=neuron, norm="operator").eval()
    images = torch.randn(8, *shape)
    f = net.rate_map(images)
    out = []
    with torch.no_grad():
        for t in sorted({round(10 ** (k / 8)) for k in range(8, int(8 * torch.tensor(steps).log10()) + 1)}):
            rates = net.simulate(images, steps=t).rates[-1]
            out.append((t, float((f(rates)[-1] - rates).flatten(1).norm(dim=1).mean())))
    return torch.tensor(out)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args(argv)
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.subplots(1, len(ARCHITECTURES), sharey=False)
    for axis, (architecture, shape) in zip(axes, ARCHITECTURES.items(), strict=True):
        for neuron, name in ((fl.IF(), "IF"), (fl.LIF(0.95), "LIF 0.95")):
            curve = residuals(architecture, shape, neuron, args.steps)
            axis.loglog(curve[:, 0], curve[:, 1], label=name)
            print(f"{architecture:28s} {name:9s} T = 10: {curve[0, 1]:.4f}   T = {int(curve[-1, 0])}: {curve[-1, 1]:.4f}")
        axis.set(title=architecture, xlabel="steps t")
    axes[0].set_ylabel("‖f(a[t]) − a[t]‖")
    axes[0].legend()
    figure.savefig(args.picture, dpi=150)


if __name__ == "__main__":
    main()
