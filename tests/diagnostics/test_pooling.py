import pytest
import torch
from torch import nn

from transferscope.diagnostics.pooling import fast_max_pool


@pytest.mark.parametrize("shape", [(3, 2, 8, 6), (2, 8, 6), (2, 1, 7, 9)])
@pytest.mark.parametrize(
    "module",
    [
        nn.MaxPool2d(2),
        nn.MaxPool2d((2, 2)),
        nn.MaxPool2d(2, 1),
        nn.MaxPool2d(2, padding=1),
        nn.MaxPool2d(2, dilation=2),
        nn.MaxPool2d(3),
        nn.MaxPool2d(2, ceil_mode=True),
    ],
)
def test_same_values_as_torch(shape: tuple[int, ...], module: nn.Module) -> None:
    maps = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    maps[0, 0, 0] = torch.nan
    expected = module(maps)
    with torch.no_grad(), fast_max_pool(nn.Sequential(module)):
        found = module(maps)
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
    assert "forward" not in module.__dict__


def test_gradients_are_those_of_torch() -> None:
    maps = torch.zeros(1, 1, 2, 2, requires_grad=True)  # all tied
    module = nn.MaxPool2d(2)
    with fast_max_pool(module):
        (gradient,) = torch.autograd.grad(module(maps).sum(), maps)
    assert gradient.sum() == gradient.max() == 1
