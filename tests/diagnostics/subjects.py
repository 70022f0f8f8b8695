"""Small networks and data that the diagnostics are tried on."""

from collections import OrderedDict

import torch
from torch import nn

from transferscope.diagnostics.subject import Examples, Subject
from transferscope.models.network import Network


def mlp(seed: int = 0, *, n_inputs: int = 5, width: int = 7, n_outputs: int = 3) -> Network:
    """A smooth network with 66 parameters, in float64."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        features = nn.Sequential(nn.Linear(n_inputs, width), nn.Tanh())
        return Network(features, nn.Linear(width, n_outputs), width).double()


def cnn(seed: int = 0, *, n_outputs: int = 3) -> nn.Module:
    """A plain module (no `Network`) with convolutions, BatchNorm that has seen data, dropout, ReLU and pooling."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = OrderedDict(
            conv=nn.Conv2d(1, 3, 3, padding=1),
            norm=nn.BatchNorm2d(3),
            relu=nn.ReLU(),
            pool=nn.MaxPool2d(2),
            second=nn.Conv2d(3, 2, 3),
            relu2=nn.ReLU(),
            flat=nn.Flatten(),
            drop=nn.Dropout(0.5),
            head=nn.Linear(8, n_outputs),
        )
        network = nn.Sequential(layers).double()
        network(torch.randn(16, 1, 8, 8, dtype=torch.float64))  # running statistics other than 0 and 1
    return network


def vectors(n: int = 40, *, n_inputs: int = 5, n_classes: int = 3, seed: int = 0) -> Examples:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(n, n_inputs, generator=generator, dtype=torch.float64)
    return Examples(inputs, torch.arange(n) % n_classes)


def images(n: int = 24, *, n_classes: int = 3, seed: int = 0) -> Examples:
    generator = torch.Generator().manual_seed(seed)
    return Examples(torch.randn(n, 1, 8, 8, generator=generator, dtype=torch.float64), torch.arange(n) % n_classes)


def mlp_subject(n: int = 40) -> Subject:
    return Subject(mlp(), vectors(n), start=mlp(1), other=mlp(2), source=vectors(30, seed=7))


def cnn_subject(n: int = 24) -> Subject:
    return Subject(cnn(), images(n), start=cnn(1), other=cnn(2), source=images(30, seed=7))
