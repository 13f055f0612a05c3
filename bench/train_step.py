"""Compare the time and memory of one training iteration in one interleaved run: ours, the paper's, and backpropagation through time.

    python bench/train_step.py [--quick] [--json FILE] [--plot FILE] [--reference DIR]

ours        event-driven simulation, GMRES to a relative residual of 1e-2 (the default)
dense       ours with dense simulation
paper       dense simulation, Broyden with 30 steps, in our code
stbp        the same network unrolled and differentiated through time, as a plain torch loop with a rectangular surrogate
snntorch    the same with snntorch's neuron, if it is installed; the same for spikingjelly
reference   the authors' code (github.com/pkuxmq/IDE-FSNN) in your checkout DIR; it needs scipy and termcolor

An iteration consists of forward pass, loss, gradient and optimiser step. Milliseconds are medians over interleaved rounds. Memory is the
peak minus the idle process, each measured in a new process whose allocator returns every tensor immediately
(MALLOC_MMAP_THRESHOLD_), so that the figure does not depend on what was freed before.

--deep instead measures AlexNet-F with inputs in the shape of CIFAR-10 (batch 16, T = 30): ours with GMRES to 1.5e-2 and the products of
the backward pass in bfloat16; full, the same in full precision, with GMRES to 2e-2; dense, the latter with dense products in every step
of the simulation; and the reference. It also gives the distance of both gradients from that of the same system solved to 1e-6 in full
precision, and our memory at T = 30 and T = 100. train_profile.py shows where the time goes, and how close that is to what the machine
can do.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import fsnn_lava.cli  # before torch: sets how long idle threads spin, for all implementations

# isort: split
import torch
import torch.nn.functional as nnf

import fsnn_lava as fl
from fsnn_lava.nn.dropout import Masks
from fsnn_lava.nn.event_layout import event_layout
from fsnn_lava.training.descent import descend

ALEXNET_F = "96C3s-256C3-384C3s-384C3-256C3 (F96C3u)"
CASES = [("400 (F400)", 5), ("400 (F400)", 30), ("400 (F400)", 100), ("64C5s (F64C5)", 30)]
BATCH, DEEP_BATCH = 128, 16
DEEP_SOLVER = fl.Solver(tol=1.5e-2, precision="bfloat16")
FULL_SOLVER = fl.Solver(tol=2e-2)  # one product around the loop less than with 1e-2; the error of the gradient that this causes is printed
NEEDED = ("scipy", "termcolor")  # needed by the reference besides torch and numpy
Iteration = Callable[[torch.Tensor, torch.Tensor], None]


class Rectangle(torch.autograd.Function):
    """Heaviside forward, a window of width vth backward: the surrogate of STBP."""

    @staticmethod
    def forward(ctx, u):  # type: ignore[no-untyped-def,override]
        ctx.save_for_backward(u)
        return (u >= 0).to(u.dtype)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def,override]
        (u,) = ctx.saved_tensors
        return grad * (u.abs() < 1.0).to(grad.dtype) / 2.0


def ours(architecture: str, steps: int) -> Iteration:
    return _iteration(_network(architecture, steps))


def paper(architecture: str, steps: int) -> Iteration:
    net = _network(architecture, steps)
    net.event_driven = False
    net.solver = fl.Solver(method="broyden", tol=1e-12, max_steps=30)
    return _iteration(net)


def dense(architecture: str, steps: int) -> Iteration:
    """Ours, but with a dense product in every step of the simulation; AlexNet-F in full precision."""
    net = _network(architecture, steps, FULL_SOLVER)
    net.event_driven = False
    return _iteration(net)


def full(architecture: str, steps: int) -> Iteration:
    """AlexNet-F in full precision."""
    return _iteration(_network(architecture, steps, FULL_SOLVER))


def stbp(architecture: str, steps: int) -> Iteration:
    net = _network(architecture, steps)
    return _unrolled(net, steps, lambda u, current, _s: _reset_by_subtraction(0.95 * u + current))


def _reset_by_subtraction(u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    spikes = Rectangle.apply(u - 2.0)
    return u - 2.0 * spikes, spikes


def snntorch(architecture: str, steps: int) -> Iteration:
    import snntorch as snn

    neuron = snn.Leaky(beta=0.95, threshold=2.0, reset_mechanism="subtract", reset_delay=False)

    def step(u: torch.Tensor, current: torch.Tensor, _s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        spikes, u = neuron(current, u)
        return u, spikes

    return _unrolled(_network(architecture, steps), steps, step)


def spikingjelly(architecture: str, steps: int) -> Iteration:
    from spikingjelly.activation_based import functional, neuron, surrogate

    node = neuron.LIFNode(tau=20.0, decay_input=False, v_threshold=2.0, v_reset=None, surrogate_function=surrogate.Sigmoid())
    iteration = _unrolled(_network(architecture, steps), steps, lambda u, current, _s: (u, node(current)))

    def run(x: torch.Tensor, y: torch.Tensor) -> None:
        functional.reset_net(node)
        iteration(x, y)

    return run


def reference(folder: Path) -> Callable[[str, int], Iteration]:
    """Build the authors' networks as their scripts do, on the CPU."""
    missing = [name for name in NEEDED if not importlib.util.find_spec(name)]
    if missing:
        sys.exit(f"--reference: the authors' code imports {' and '.join(missing)}; pip install {' '.join(missing)}")
    if not (folder / "models" / "snn_ide_fc.py").is_file():
        sys.exit(f"--reference: {folder} is not a checkout of the authors' code: it has no models/snn_ide_fc.py")
    sys.path.insert(0, str(folder))
    torch.Tensor.cuda = lambda self, *args, **kwargs: self  # type: ignore[method-assign] # the code moves everything to a GPU

    def build(architecture: str, steps: int) -> Iteration:
        common = {"num_classes": 10, "threshold": 30, "time_step": steps, "vth": 2.0, "dropout": 0.2, "leaky": 0.95}
        if architecture.startswith("400"):
            from models.snn_ide_fc import SNNIDEFCNet

            net = SNNIDEFCNet({"MODEL": {"dim_in": 784, "dim_hidden": 400, **common}, "OPTIM": {"solver": "broy"}})
        elif architecture == ALEXNET_F:
            from models.snn_ide_conv_multilayer import SNNIDEConvMultiLayerNet

            shape = {"c_in": 3, "c_hidden": 96, "c_s1": 256, "c_s2": 384, "c_s3": 384, "c_s4": 256, "h_hidden": 8, "w_hidden": 8}
            shape |= {"kernel_size_x": 3, "stride_x": 2, "padding_x": 1, "pooling_x": False, "kernel_size_s": 3}
            net = SNNIDEConvMultiLayerNet({"MODEL": {**shape, **common, "leaky": 0.99}, "OPTIM": {"solver": "broy"}})
        else:
            from models.snn_ide_conv import SNNIDEConvNet

            shape = {"c_in": 1, "c_hidden": 64, "kernel_size_x": 5, "stride_x": 2, "padding_x": 2, "pooling_x": False}
            shape |= {"kernel_size_s": 5, "h_hidden": 14, "w_hidden": 14}
            net = SNNIDEConvNet({"MODEL": {**shape, **common}, "OPTIM": {"solver": "broy"}})
        return _iteration(net.train())

    return build


def _network(architecture: str, steps: int, deep_solver: fl.Solver = DEEP_SOLVER) -> fl.FSNN:
    torch.manual_seed(0)
    shape, leak = ((3, 32, 32), 0.99) if architecture == ALEXNET_F else ((1, 28, 28), 0.95)
    net = fl.FSNN(architecture, input_shape=shape, classes=10, neuron=fl.LIF(leak), steps=steps, dropout=0.2).train()
    if architecture == ALEXNET_F:
        net.solver = deep_solver
    return net


def _samples(architecture: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return random images and labels."""
    torch.manual_seed(1)
    shape = (DEEP_BATCH, 3, 32, 32) if architecture == ALEXNET_F else (BATCH, 1, 28, 28)
    return torch.randn(shape), torch.randint(0, 10, shape[:1])


def _iteration(net: torch.nn.Module) -> Iteration:
    step = _step(net)

    def run(x: torch.Tensor, y: torch.Tensor) -> None:
        _without_gradients(net)
        nnf.cross_entropy(net(x), y).backward()
        step()

    return run


def _step(net: torch.nn.Module) -> Callable[[], object]:
    """Take a step with fsnn-train's optimiser for all our networks, including unrolled ones, and with torch's for the authors' code."""
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    return partial(descend, optimiser) if isinstance(net, fl.FSNN) else optimiser.step


def _without_gradients(net: torch.nn.Module) -> None:
    """Clear the gradients of all implementations as zero_grad does, but without the 0.2 ms that it takes."""
    for parameter in net.parameters():
        parameter.grad = None


def _unrolled(net: fl.FSNN, steps: int, step: Callable) -> Iteration:  # type: ignore[type-arg]
    stage, feedback, step_weights = net.stages[0], net.feedback, _step(net)

    def run(x: torch.Tensor, y: torch.Tensor) -> None:
        _without_gradients(net)
        weight = feedback.weight()
        drive = stage.normalise(stage.current(x), running=False)
        u, s = torch.zeros_like(drive), torch.zeros_like(drive)
        total = torch.zeros_like(drive)
        for _ in range(steps):
            u, s = step(u, drive + feedback.operator.apply(weight, s), s)
            total = total + s
        nnf.cross_entropy(net.readout(total.flatten(1) / steps), y).backward()
        step_weights()

    return run


def contestants(folder: Path | None) -> dict[str, Callable[[str, int], Iteration]]:
    found: dict[str, Callable[[str, int], Iteration]] = {"ours": ours, "dense": dense, "paper": paper, "stbp": stbp}
    for name, build in (("snntorch", snntorch), ("spikingjelly", spikingjelly)):
        if importlib.util.find_spec(name):
            found[name] = build
    if folder is not None:
        found["reference"] = reference(folder)
    return found


def times(builders: dict[str, Callable[[str, int], Iteration]], architecture: str, steps: int, rounds: int) -> dict[str, float]:
    """Return the median milliseconds per iteration, alternating between the implementations."""
    x, y = _samples(architecture)
    return _interleaved({name: build(architecture, steps) for name, build in builders.items()}, x, y, rounds)


def _interleaved(
    runs: dict[str, Iteration], x: torch.Tensor, y: torch.Tensor, rounds: int, *, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the median milliseconds after two warm-up rounds."""
    seen: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 2):
        for name, run in runs.items():
            started = clock()
            run(x, y)
            if turn >= 2:
                seen[name].append(1e3 * (clock() - started))
    return {name: statistics.median(values) for name, values in seen.items()}


def memory(name: str, architecture: str, steps: int, folder: Path | None) -> float:
    """Return by how many megabytes the peak memory of a new process exceeds idle in three iterations."""
    command = [sys.executable, __file__, "--one", name, architecture, str(steps)]
    if folder is not None:
        command += ["--reference", str(folder)]
    settings = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=settings).stdout.split()[-1])


def _one(name: str, architecture: str, steps: int, folder: Path | None) -> None:
    torch.set_num_threads(1)
    x, y = _samples(architecture)
    run = contestants(folder)[name](architecture, steps)
    contestants(folder)[name](architecture, 1)(x, y)  # load and compile everything once
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    idle = _status("VmRSS")
    for _ in range(3):
        run(x, y)
    print((_status("VmHWM") - idle) / 1024)


def _status(key: str) -> int:
    """Return the memory of this process in kilobytes, as Linux reports it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1])


def deep(rounds: int, folder: Path | None, *, processor: bool) -> list[dict]:  # type: ignore[type-arg]
    """Measure AlexNet-F with new weights on random images in the shape of CIFAR-10."""
    steps = 30
    builders = {"ours": ours, "full": full, "dense": dense} | ({} if folder is None else {"reference": reference(folder)})
    x, y = _samples(ALEXNET_F)
    clock = time.process_time if processor else time.perf_counter
    spent = _interleaved({name: build(ALEXNET_F, steps) for name, build in builders.items()}, x, y, rounds, clock=clock)
    net = _network(ALEXNET_F, steps)
    errors = {"ours": gradient_error(net, x, y), "full": gradient_error(_network(ALEXNET_F, steps, FULL_SOLVER), x, y)}
    share = activity(net, x)
    print(f"{ALEXNET_F}, T = {steps}, batch {DEEP_BATCH}, {100 * share:.1f} % of all synapses are active per step")
    for name, value in spent.items():
        print(f"  {name:14s}{value:10.1f} ms   {value / spent['ours']:6.2f} x ours", flush=True)
    print("  error of the gradient: " + ", ".join(f"{name} {error:.1e}" for name, error in errors.items()), flush=True)
    held = {str(number): memory("ours", ALEXNET_F, number, None) for number in (steps, 100)}
    print("  memory over idle " + ", ".join(f"{value:.0f} MB at T = {number}" for number, value in held.items()), flush=True)
    row = {"architecture": ALEXNET_F, "steps": steps, "batch": DEEP_BATCH, "milliseconds": spent, "activity": share}
    return [{**row, "gradient error": errors, "megabytes": held}]


def gradient_error(net: fl.FSNN, x: torch.Tensor, y: torch.Tensor) -> float:
    """Return the relative error of the gradient, compared with that of the same system solved to 1e-6."""
    found = []
    for solver in (fl.Solver(tol=1e-6, max_steps=300), net.solver):
        kept = {name: value.clone() for name, value in net.state_dict().items()}
        net.solver = solver
        _without_gradients(net)
        torch.manual_seed(2)  # the same dropout masks
        nnf.cross_entropy(net(x), y).backward()
        found.append(torch.cat([p.grad.flatten() for p in net.parameters() if p.grad is not None]))
        net.load_state_dict(kept)
    return float((found[1] - found[0]).norm() / found[0].norm())


@torch.no_grad()
def activity(net: fl.FSNN, x: torch.Tensor) -> float:
    """Return the share of all synapses that the spikes of the last forward pass activated."""
    assert net.last_trace is not None
    layout = event_layout(net._dynamics(x, net.feedback_weights(), Masks.none(len(net.stages), len(net.feedbacks))))
    return layout.activity([float(count.mean()) / net.steps for count in net.last_trace.counts])


LEGEND = {
    "ours": "ours: events, GMRES to 1e-2",
    "dense": "ours with dense simulation",
    "paper": "the paper's setting in our code: dense, Broyden",
    "stbp": "backpropagation through time, plain torch",
    "snntorch": "the same with snntorch's neuron",
    "spikingjelly": "the same with spikingjelly's neuron",
    "reference": "the authors' code",
}


def draw(rows: list[dict], path: Path) -> None:  # type: ignore[type-arg]
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axis = figure.subplots()
    names = list(rows[0]["milliseconds"])
    for position, name in enumerate(names):
        places = [i + 0.8 * position / len(names) for i in range(len(rows))]
        axis.bar(places, [row["milliseconds"][name] for row in rows], width=0.8 / len(names), label=LEGEND.get(name, name))
    axis.set_xticks(range(len(rows)), [f"{row['architecture']}\nT = {row['steps']}" for row in rows])
    axis.set(yscale="log", ylabel=f"ms per iteration, batch {BATCH}")
    figure.legend(loc="outside upper left", ncols=2)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds, no convolutional network")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", metavar="TEXT", help="only architectures that begin with this text, for example 64C5s")
    parser.add_argument("--deep", action="store_true", help="AlexNet-F instead")
    parser.add_argument("--processor", action="store_true", help="with --deep: time of the processor, for a busy machine; use one thread")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--reference", type=Path, metavar="DIR", help="a checkout of the authors' code")
    parser.add_argument("--one", nargs=3, metavar=("NAME", "ARCHITECTURE", "STEPS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        _one(args.one[0], args.one[1], int(args.one[2]), args.reference)
        return
    if args.deep:
        rows = deep(args.rounds, args.reference, processor=args.processor)
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1))
        return
    builders = contestants(args.reference)
    rows = []
    for architecture, steps in CASES[:3] if args.quick else CASES:
        if not architecture.startswith(args.only):
            continue
        rounds = 3 if args.quick or "C" in architecture else args.rounds
        spent = times(builders, architecture, steps, rounds)
        held = {name: memory(name, architecture, steps, args.reference) for name in builders}
        rows.append({"architecture": architecture, "steps": steps, "batch": BATCH, "milliseconds": spent, "megabytes": held})
        print(f"{architecture}, T = {steps}, batch {BATCH}, {torch.get_num_threads()} threads")
        for name in builders:
            print(
                f"  {name:14s}{spent[name]:10.1f} ms   {spent[name] / spent['ours']:6.2f} x ours   {held[name]:8.0f} MB over idle",
                flush=True,
            )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    if args.plot:
        draw(rows, args.plot)


if __name__ == "__main__":
    main()
