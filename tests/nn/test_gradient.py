"""The implicit gradient (E5), compared with two other ways to compute it, in float64."""

from functools import partial

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import Diverged
from fsnn_lava.nn.dropout import Masks
from fsnn_lava.nn.gradient import attach_gradient
from fsnn_lava.nn.implicit import implicit
from fsnn_lava.nn.trace import Trace
from fsnn_lava.solvers.solver import LINEAR_METHODS

CASES = [
    ("7 (F7)", (5,)),
    ("6-4 (F6)", (5,)),
    ("3C3 (F3C3)", (2, 5, 4)),
    ("3C3s-4C3 (F3C3)", (2, 6, 5)),
    ("3C3s-4C3-2C3s (F3C3u)", (2, 9, 8)),
    ("4C3-P2-3C3 (F4C3)", (1, 6, 8)),
]


def make(architecture, shape, *, neuron, batch_norm, seed=0, norm="kernel"):
    torch.manual_seed(seed)
    net = fl.FSNN(architecture, input_shape=shape, classes=3, neuron=neuron, vth=1.5, batch_norm=batch_norm, norm=norm).double()
    for position, stage in enumerate(net.stages):  # a drive inside the clamp for most neurons, and some outside
        stage.linear.bias.data.uniform_(0.2, 1.0)
        if stage.norm is not None:  # inside the loop the gain of the mini-batch's statistics must leave a contraction
            stage.norm.weight.data.uniform_(0.3, 0.6).mul_(1.0 if position == 0 else 0.2)
            stage.norm.bias.data.uniform_(0.2, 0.9)
    return net.train()


def batch_map(net, x, weight):
    """f with the mini-batch's statistics, which is what training differentiates; running ones are left alone."""
    for stage in net.stages:
        if stage.norm is not None:
            stage.norm.momentum = 0.0
    loop = net._loop_map(net._entries(x), (weight,), Masks.none(len(net.stages), 1), running=False)
    return lambda a: loop(a)[-1]


def loss_of(net, rates):
    pattern = torch.arange(rates.numel(), dtype=rates.dtype).sin().view_as(rates)
    return (net.readout(rates.flatten(1)).square().sum()) + (pattern * rates).sum()


def solve(net, x):
    weight = net.feedback.direction * (net.feedback.alpha / net.feedback.spectral_norm())
    f = batch_map(net, x, weight)
    a = torch.zeros(len(x), *net.architecture.layers[-1].out_shape, dtype=torch.float64)
    return f, a


def unrolled(net, x, turns=300):
    f, a = solve(net, x)
    for _ in range(turns):
        a = f(a)
    assert (f(a) - a).abs().max() < 1e-12, "the case has no equilibrium to differentiate at"
    return loss_of(net, a)


def by_implicit(net, x, method):
    f, a = solve(net, x)
    with torch.no_grad():
        for _ in range(300):
            a = f(a)
    start = a.detach().requires_grad_()
    mapped = f(start)
    product = lambda v: torch.autograd.grad(mapped, start, v, retain_graph=True)[0]  # noqa: E731
    solver = fl.Solver(method=method, tol=1e-12, max_steps=400)
    backward = partial(solver.solve_affine, product, independent=len(net.stages) == 1)
    return loss_of(net, implicit(mapped, a, backward, report=net._report))


def gradients(net, loss):
    wanted = [p for p in net.parameters() if p.requires_grad]
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, wanted, allow_unused=True) if g is not None])


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_implicit_gradient_is_the_unrolled_one(architecture, shape, batch_norm):
    net = make(architecture, shape, neuron=fl.IF(), batch_norm=batch_norm)
    x = torch.randn(8, *shape, dtype=torch.float64)
    expected = gradients(net, unrolled(net, x))
    got = gradients(net, by_implicit(net, x, "gmres"))
    assert expected.norm() > 1e-3
    assert (got - expected).norm() <= 1e-6 * expected.norm()


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_implicit_gradient_is_that_of_finite_differences(architecture, shape, batch_norm):
    net = make(architecture, shape, neuron=fl.LIF(0.9), batch_norm=batch_norm, seed=3)
    x = torch.randn(8, *shape, dtype=torch.float64)
    wanted = list(net.parameters())
    got = torch.autograd.grad(by_implicit(net, x, "gmres"), wanted, allow_unused=True)
    torch.manual_seed(1)
    directions = [torch.randn_like(p) for p in wanted]
    slope = sum((g * d).sum() for g, d in zip(got, directions, strict=True) if g is not None)
    # the map is linear inside the clamp, so the central difference has an error of order h**2 as long as no neuron crosses it
    h = 1e-6
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            for p, d in zip(wanted, directions, strict=True):
                p.add_(d, alpha=sign * h)
            values.append(unrolled(net, x))
            for p, d in zip(wanted, directions, strict=True):
                p.sub_(d, alpha=sign * h)
    difference = (values[0] - values[1]) / (2 * h)
    # the tracked singular vector is not re-solved between the two sides: `direction` moves the norm to first order alike
    assert abs(difference - slope) <= 1e-6 * max(abs(slope), 1.0)


@pytest.mark.parametrize("method", LINEAR_METHODS)
def test_every_solver_reaches_the_same_gradient(method):
    net = make("3C3s-4C3 (F3C3)", (2, 6, 5), neuron=fl.IF(), batch_norm=True)
    x = torch.randn(3, 2, 6, 5, dtype=torch.float64)
    expected = gradients(net, unrolled(net, x))
    got = gradients(net, by_implicit(net, x, method))
    assert (got - expected).norm() <= 1e-6 * expected.norm()


@pytest.mark.parametrize("where", ["gradient", "feedback"])
@pytest.mark.parametrize("method", ["gmres", "anderson"])
def test_what_is_not_a_number_ends_with_a_message(where, method):
    torch.manual_seed(0)
    net = fl.FSNN("6C3 (F6C3)", input_shape=(1, 6, 6), classes=3, steps=5, solver=fl.Solver(method=method))
    if where == "feedback":
        torch.nn.init.constant_(net.feedback.alpha, torch.nan)
    logits = net(3 * torch.randn(4, 1, 6, 6))
    assert bool(torch.isfinite(logits).all()), "a potential that is not a number never reaches the threshold"
    with pytest.raises(Diverged, match="the gradient is not finite"):
        (logits * (torch.nan if where == "gradient" else 1.0)).sum().backward()


def test_a_second_derivative_is_refused_and_its_graph_harms_nothing():
    torch.manual_seed(0)
    net = fl.FSNN("4C3 (F4C3)", input_shape=(1, 6, 6), classes=3, steps=5)
    grad = torch.autograd.grad(net(torch.randn(4, 1, 6, 6)).square().sum(), net.stages[0].norm.weight, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.parametrize("norm", ["kernel", "operator"])
@pytest.mark.parametrize("architecture", ["9 (F9)", "5C3 (F5C3)"])
def test_the_graphless_gradient_of_a_single_layer_is_the_one_of_autograd(architecture, norm):
    shape = (9,) if "C" not in architecture else (1, 6, 5)
    net = make(architecture, shape, neuron=fl.IF(), batch_norm=True, norm=norm)
    net.dropout, net.solver = 0.3, fl.Solver(tol=1e-13, max_steps=300)
    x = torch.randn(8, *shape, dtype=torch.float64)
    masks, weights = net._masks(8, x), net.feedback_weights()
    rates = torch.rand(8, *net.architecture.layers[0].out_shape, dtype=torch.float64)
    start = rates.clone().requires_grad_()
    loop = net._loop_map(net._entries(x), weights, masks, running=False)
    mapped = loop(start)[-1]
    product = lambda v: torch.autograd.grad(mapped, start, v, retain_graph=True)[0]  # noqa: E731
    expected = loss_of(net, implicit(mapped, rates, partial(net.solver.solve_affine, product), report=net._report))
    got = attach_gradient(Trace((rates,), (rates,), (rates,)), loop, net.solver, report=net._report)
    assert torch.equal(got, rates)
    parameters = list(net.parameters())
    for a, b in zip(*(torch.autograd.grad(loss, parameters, retain_graph=True) for loss in (loss_of(net, got), expected)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("norm", ["kernel", "operator"])
@pytest.mark.parametrize(("architecture", "shape"), [("7 (F7)", (5,)), ("3C3 (F3C3)", (2, 5, 4)), ("3C3s-4C3-2C3s (F3C3u)", (2, 9, 8))])
def test_the_gradient_of_the_restricted_weight_is_that_of_finite_differences(architecture, shape, norm):
    feedback = make(architecture, shape, neuron=fl.IF(), batch_norm=False, norm=norm).feedback.eval()
    pattern = torch.randn_like(feedback.direction)

    def loss():
        out = feedback.weight()
        if out.dim() == 4:  # a gradient in another order of memory, as convolutions give
            out = out.clone(memory_format=torch.channels_last)
        return (pattern * out).sum()

    for alpha in (0.7, -0.7, 1.5):
        torch.nn.init.constant_(feedback.alpha, alpha)
        got = torch.autograd.grad(loss(), (feedback.direction, feedback.alpha))
        for found, parameter in zip(got, (feedback.direction, feedback.alpha), strict=True):
            move = torch.randn_like(parameter)
            values = []
            for step in (1e-6, -1e-6):  # the power iteration stands still: its vectors are constants of the derivative
                with torch.no_grad():
                    parameter.add_(move, alpha=step)
                    values.append(float(loss()))
                    parameter.sub_(move, alpha=step)
            assert float((found * move).sum()) == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(("architecture", "shape"), [("7 (F7)", (5,)), ("3C3 (F3C3)", (2, 5, 4)), ("3C3s-4C3-2C3s (F3C3u)", (2, 9, 8))])
@pytest.mark.parametrize("size", [1.0, 1e10, 1e-12])
def test_the_compiled_restricted_weight_is_that_of_torch(architecture, shape, size, monkeypatch):
    """Two steps of training: weight, singular vector and both gradients; also of directions whose fourth power leaves float32."""
    found = []
    for compiled in (True, False):
        torch.manual_seed(5)
        feedback = fl.FSNN(architecture, input_shape=shape, classes=3).feedback.train()
        with torch.no_grad():
            feedback.direction.mul_(size)
            feedback.singular.copy_(torch.nn.functional.normalize(torch.randn_like(feedback.singular), dim=0))
        monkeypatch.setattr("fsnn_lava.nn.feedback.compiler_accepts", lambda _, answer=compiled: answer)
        for _ in range(2):
            weight = feedback.weight()
        pattern = torch.arange(weight.numel(), dtype=weight.dtype).cos().view_as(weight)
        (pattern * weight).sum().backward()
        found.append((weight.detach(), feedback.singular.clone(), feedback.direction.grad * size, feedback.alpha.grad))
    for a, b in zip(*found, strict=True):
        assert bool(a.isfinite().all())
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)  # float32 sums of up to 36 terms of order 1, in another order


@pytest.mark.parametrize("norm", ["kernel", "operator"])
def test_a_feedback_without_direction_ends_with_a_message(norm):
    net = fl.FSNN("6 (F6)", input_shape=(4,), classes=3, steps=5, norm=norm)
    torch.nn.init.zeros_(net.feedback.direction)
    with pytest.raises(Diverged, match="the gradient is not finite"):
        net(torch.randn(4, 4)).sum().backward()


@pytest.mark.parametrize("neuron", [fl.IF(), fl.LIF(0.9)])
@pytest.mark.parametrize(("architecture", "shape"), [("9 (F9)", (4,)), ("5C3s (F5C3)", (1, 9, 8))])
def test_a_step_of_training_does_not_depend_on_how_it_was_simulated(architecture, shape, neuron):
    """Event by event W a comes from conservation of charge, with dense products from a product."""
    found = []
    for events in (True, False):
        torch.manual_seed(3)
        net = fl.FSNN(architecture, input_shape=shape, classes=3, neuron=neuron, vth=1.0, dropout=0.3, steps=9)
        torch.nn.init.uniform_(net.stages[0].norm.bias, 0.0, 0.6)
        net.event_driven, net.solver = events, fl.Solver(tol=1e-6, max_steps=100)
        torch.manual_seed(4)
        net(torch.randn(6, *shape)).square().sum().backward()
        found.append([parameter.grad for parameter in net.parameters()])
    assert found[0][-1].abs().max() > 0.1
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4 * float(b.abs().max()))  # a current at the clamp's edge would show as 1/6


def test_two_forward_passes_before_a_backward_one_are_each_differentiated_where_they_were():
    def gradients_of_both(*, at_once):
        net = make("7 (F7)", (5,), neuron=fl.IF(), batch_norm=False)
        net.solver = fl.Solver(tol=1e-12, max_steps=200)
        torch.manual_seed(1)
        net.feedback.singular.copy_(torch.nn.functional.normalize(torch.randn(7, dtype=torch.float64), dim=0))  # moves far in a step
        wanted, found, losses = [net.feedback.direction, net.feedback.alpha], [], []
        for x in torch.randn(2, 6, 5, dtype=torch.float64):
            losses.append(net(x, steps=9).square().sum())
            if not at_once:
                found.append(torch.autograd.grad(losses[-1], wanted))
        return found or [torch.autograd.grad(loss, wanted) for loss in losses]

    for one_by_one, at_once in zip(gradients_of_both(at_once=False), gradients_of_both(at_once=True), strict=True):
        for a, b in zip(one_by_one, at_once, strict=True):
            assert torch.equal(a, b)


def test_what_the_simulation_returns_is_the_feedback_of_its_rates():
    """By conservation of charge (E10) it knows W a without a product."""
    for architecture, shape in (("9 (F9)", (4,)), ("5C3s (F5C3)", (1, 9, 8))):
        for neuron in (fl.IF(), fl.LIF(0.9)):
            for dropout in (0.0, 0.4):
                torch.manual_seed(3)
                net = fl.FSNN(architecture, input_shape=shape, classes=3, neuron=neuron, vth=1.0, dropout=dropout).train()
                torch.nn.init.uniform_(net.stages[0].norm.bias, 0.0, 0.6)
                x = torch.randn(6, *shape)
                for steps in (1, 2, 15):
                    masks, weight = net._masks(6, x), net.feedback.weight().detach()
                    trace = net._simulate(net._dynamics(x, (weight,), masks), steps, returned=True)
                    expected = net.feedback.operator.apply(weight, trace.rates[0])
                    expected = expected if masks.feedbacks[0] is None else expected * masks.feedbacks[0]
                    assert expected.abs().max() > 0.05
                    torch.testing.assert_close(trace.returned, expected, rtol=0, atol=3e-6)  # 15 steps of float32 sums of order 1


def test_training_uses_the_implicit_gradient_at_the_simulated_rates():
    net = make("6 (F6)", (5,), neuron=fl.IF(), batch_norm=False)
    net.solver = fl.Solver(tol=1e-12, max_steps=200)
    x = torch.randn(4, 5, dtype=torch.float64)
    loss = net(x, steps=20).square().sum()
    loss.backward()
    rates = net.last_trace.rates[0]
    weight = net.feedback.weight().detach()
    mapped = net.rate_map(x)(rates)[0]
    active = ((mapped > 0) & (mapped < 1)).double() / net.vth
    out = net.readout(rates)
    outer = (2 * out) @ net.readout.weight
    for sample in range(4):  # beta = (I - J^T)^-1 dL/da, by dense algebra; dL/db of the only stage is sigma' beta / vth
        jacobian = active[sample][:, None] * weight
        beta = torch.linalg.solve(torch.eye(6, dtype=torch.float64) - jacobian.t(), outer[sample].detach())
        outer[sample] = active[sample] * beta
    torch.testing.assert_close(net.stages[0].linear.bias.grad, outer.sum(0).detach(), rtol=1e-8, atol=1e-10)
    assert net.last_solve[1] <= 1e-12


def test_memory_of_a_training_step_holds_no_trace_of_the_simulation():
    """Tensors alive at the end of a forward pass are the same for 3 and for 60 steps."""
    import gc

    def alive(steps):
        net = make("8C3 (F8C3)", (1, 6, 6), neuron=fl.LIF(0.9), batch_norm=True)
        loss = net(torch.randn(4, 1, 6, 6, dtype=torch.float64), steps=steps).sum()
        gc.collect()
        count = sum(o.numel() for o in gc.get_objects() if issubclass(type(o), torch.Tensor))
        loss.backward()
        return count

    assert alive(60) == alive(3)


def test_zero_solver_steps_is_the_jacobian_free_gradient():
    net = make("6 (F6)", (5,), neuron=fl.IF(), batch_norm=False)
    net.solver = fl.Solver(max_steps=0)
    x = torch.randn(4, 5, dtype=torch.float64)
    net(x, steps=10).sum().backward()
    mapped = net.rate_map(x)(net.last_trace.rates[0])[0]
    active = ((mapped > 0) & (mapped < 1)).double() / net.vth
    expected = (active * net.readout.weight.sum(0)).sum(0)
    torch.testing.assert_close(net.stages[0].linear.bias.grad, expected.detach(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("limit", [0.1, 0.6, 0.8, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("place", [1.0, -1.0, 0.5, 1.01])
def test_alpha_has_a_gradient_up_to_its_limit_and_is_clipped_to_it_before_it_is_used(place, limit, monkeypatch):
    """Where it begins, and where clipping leaves it: the limit rounded to float32, which may lie above it."""
    found = []
    for compiled in (True, False):
        torch.manual_seed(5)
        feedback = fl.FSNN("7 (F7)", input_shape=(5,), classes=3, limit=limit).feedback.train()
        monkeypatch.setattr("fsnn_lava.nn.feedback.compiler_accepts", lambda _, answer=compiled: answer)
        with torch.no_grad():
            feedback.alpha.fill_(place * limit)
        feedback.weight().square().sum().backward()
        found.append(float(feedback.alpha.grad))
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    assert found[0] != 0
    assert float(feedback.alpha.detach()) == pytest.approx(min(place, 1.0) * limit, rel=1e-6)
