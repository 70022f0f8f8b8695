import gc
from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from transferscope.diagnostics.hessian import HessianOperator
from transferscope.diagnostics.loss_surface import Layout, loss_surface
from transferscope.diagnostics.network_state import evaluation_mode
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.errors import NetworkError, UnknownNameError
from transferscope.testing.diagnostics import cnn_subject, mlp_subject


def dense_hessian(subject: Subject, blocks: tuple[str, ...] = ()) -> Float[Tensor, "P P"]:
    """The Hessian by differentiating every entry of the gradient of the whole sample at once."""
    parameters = {name: p.detach() for name, p in subject.network.named_parameters()}
    moved = {n: p for n, p in parameters.items() if not blocks or any(n.startswith(f"{b}.") for b in blocks)}
    layout = Layout.of(moved)

    def loss(vector: Tensor) -> Tensor:
        outputs = functional_call(
            subject.network, {**parameters, **layout.unflatten(vector)}, (subject.examples.inputs,)
        )
        return subject.loss(outputs, subject.examples.labels)

    with evaluation_mode(subject.network):
        hessian: Tensor = torch.func.jacrev(torch.func.grad(loss))(layout.flatten(moved))
    return hessian


def _products(subject: Subject, blocks: tuple[str, ...] = (), **settings: Any) -> Float[Tensor, "P P"]:
    with evaluation_mode(subject.network):
        operator = HessianOperator(loss_surface(subject, blocks), **settings)
        return torch.stack([operator(unit) for unit in torch.eye(operator.layout.size).to(operator.surface.point)])


@pytest.mark.parametrize("subject", [mlp_subject(), cnn_subject()], ids=["mlp", "cnn"])
@pytest.mark.parametrize("blocks", [(), ("head",)], ids=["whole", "head"])
@pytest.mark.parametrize("batch_size", [1000, 7], ids=["one batch", "ragged batches"])
def test_products_agree_with_the_dense_hessian(subject: Subject, blocks: tuple[str, ...], batch_size: int) -> None:
    exact = dense_hessian(subject, blocks)
    torch.testing.assert_close(_products(subject, blocks, batch_size=batch_size), exact, rtol=1e-9, atol=1e-12)


@pytest.mark.long
def test_products_are_the_same_when_graphs_are_not_kept() -> None:
    exact = dense_hessian(cnn_subject())
    torch.testing.assert_close(_products(cnn_subject(), batch_size=8, graph_memory=0), exact, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("graph_memory", "n_calls"), [(2**30, 0), (1, 5)])
def test_graphs_that_fit_into_the_memory_are_kept_from_product_to_product(graph_memory: int, n_calls: int) -> None:
    subject, calls = mlp_subject(), list[int]()
    with evaluation_mode(subject.network):
        operator = HessianOperator(loss_surface(subject), batch_size=8, graph_memory=graph_memory)
        subject.network.register_forward_hook(lambda *_: calls.append(1))
        operator(torch.ones(operator.layout.size).double())
    assert len(calls) == n_calls  # of 40 examples


def test_regression_uses_squared_error() -> None:
    subject = mlp_subject()
    labels = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    regression = replace(subject, examples=Examples(subject.examples.inputs, labels))
    torch.testing.assert_close(_products(regression), dense_hessian(regression), rtol=1e-9, atol=1e-12)


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        ctx.save_for_backward(inputs)
        return inputs**2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (inputs,) = ctx.saved_tensors
        return cast(Tensor, 2 * inputs * gradient)


class _Squares(nn.Module):
    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = _Once.apply(inputs)  # type: ignore[no-untyped-call]
        return outputs


class _Attention(nn.Module):
    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = nn.functional.scaled_dot_product_attention(inputs, inputs, inputs)
        return outputs.mean(1)


def test_attention_is_differentiated_twice() -> None:
    network = nn.Sequential(nn.Linear(5, 4), nn.Unflatten(1, (2, 2)), _Attention(), nn.Linear(2, 3)).double()
    subject = Subject(network, mlp_subject().examples)
    with sdpa_kernel(SDPBackend.MATH):
        exact = dense_hessian(subject)
    torch.testing.assert_close(_products(subject), exact, rtol=1e-9, atol=1e-12)


def test_operators_without_double_backward() -> None:
    network = nn.Sequential(nn.Linear(5, 4), _Squares(), nn.Linear(4, 3)).double()
    with pytest.raises(NetworkError, match="cannot be differentiated twice"):
        _products(Subject(network, mlp_subject().examples))


def test_unknown_blocks_answer_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'haed': did you mean 'head'\? known are features, features.0, "):
        loss_surface(mlp_subject(), ("haed",))


@pytest.mark.long
@pytest.mark.parametrize("graph_memory", [2**30, 0], ids=["kept", "not kept"])
def test_products_do_not_pile_up_in_memory(graph_memory: int) -> None:
    # Another library keeps a graph for every minibatch that it has seen.
    subject = cnn_subject()
    with evaluation_mode(subject.network):
        operator = HessianOperator(loss_surface(subject), batch_size=4, graph_memory=graph_memory)
        counts = []
        gc.freeze()  # what other tests have left is neither looked through nor counted
        for _ in range(4):
            operator(torch.ones(operator.layout.size).double())
            gc.collect()
            counts.append(sum(type(thing) is Tensor for thing in gc.get_objects()))
        gc.unfreeze()
    assert counts[-1] == counts[1]
