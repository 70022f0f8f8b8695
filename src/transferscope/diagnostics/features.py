"""Features: what the head of a network reads."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call

from transferscope.diagnostics.network_state import evaluation_mode, first_outputs, frozen_state
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.errors import NetworkError, unknown_name, unsupported, wrong_shape
from transferscope.models.adapt import alike


def submodule(network: nn.Module, name: str) -> nn.Module:
    """Return the submodule called `name`.

    Args:
        name: Dotted name, such as "head" or "classifier.6".
    """
    modules: dict[str, nn.Module] = dict(network.named_modules())
    if name not in modules:
        raise unknown_name("submodule of the network", name, [known for known in modules if known])
    return modules[name]


def features_of(
    network: nn.Module, examples: Examples, *, head: str = "head", batch_size: int = 512
) -> Float[Tensor, "N D"]:
    """Return the input of the head for every example, in evaluation mode and without gradients.

    Returns:
        Features, shape (N, D), float64 on the CPU; inputs of the head with more dimensions are flattened.

    Raises:
        UnknownNameError: The submodule does not exist.
        NetworkError: The forward pass does not call it; or the features of the last two examples differ when computed
        alone, since the network is random or depends on the batch.
    """
    known = examples.kept(network) if examples.kept is not None and head == "head" else None
    if known is not None:
        return known.detach().flatten(1).cpu().double()
    state = frozen_state(network)
    seen: list[Tensor] = []
    handle = submodule(network, head).register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
    try:
        first_outputs(network, examples.inputs[-2:], state)
        alone, seen = seen, []
        with evaluation_mode(network), torch.no_grad():
            for batch in examples.batches(batch_size):
                buffers = {name: buffer.clone() for name, buffer in state.buffers.items()}
                functional_call(network, {**state.parameters, **buffers}, (batch.inputs,))
    finally:
        handle.remove()
    if sum(len(part) for part in seen) != len(examples):
        raise NetworkError(
            f"the forward pass called {head} on {sum(len(part) for part in seen)} of {len(examples)} examples; give a "
            "submodule that is called once per example"
        )
    few = torch.cat(alone)
    if len(seen[-1]) >= len(few) and not alike(few, seen[-1][-len(few) :]):
        raise NetworkError(
            "in evaluation mode the features of an example are random or depend on its batch (dropout, batch "
            "normalisation without running statistics); give a network that reads each input on its own"
        )
    return torch.cat([part.flatten(1).cpu().double() for part in seen])


def feature_array(subject: Subject) -> Float[np.ndarray, "N D"]:
    """Return features of the subject's examples in its network, float64."""
    return features_of(subject.network, subject.examples, head=subject.head).numpy()


def class_labels(examples: Examples, diagnostic: str) -> Int[np.ndarray, " N"]:
    """Return class labels as an array.

    Raises:
        DataError: The labels are numbers, or several for each example.
    """
    if examples.labels.is_floating_point():
        raise unsupported(diagnostic, "class labels", "the labels are numbers")
    if examples.several_labels:
        raise unsupported(diagnostic, "one class per input", "there are several labels")
    check_one_class_each(examples)
    return examples.labels.cpu().numpy()


def check_one_class_each(examples: Examples) -> None:
    """Refuse, with a DataError, integer labels that are more than one for each example."""
    if not examples.labels.is_floating_point() and not examples.several_labels and examples.labels.dim() > 1:
        raise wrong_shape("class labels", examples.labels, "one integer per example, (N,)")


def label_codes(examples: Examples, n_classes: int | None = None) -> Float[np.ndarray, "N C"]:
    """Return labels as numbers to regress on: e_c - 1/C for class c of C, or the regression targets.

    Several labels of an input are y - 1/2 each.

    The code is that of "Meta-learning Transferable Representations with a Single Target Domain" (section A.2), which
    prints it for C = 10.

    Args:
        n_classes: C, if labels are indices of known classes; None for the classes that occur.
    """
    if examples.labels.is_floating_point():
        return examples.labels.reshape(len(examples), -1).cpu().double().numpy()
    if examples.several_labels:
        return np.asarray(examples.labels.cpu().double().numpy() - 0.5)
    check_one_class_each(examples)
    index = examples.labels.cpu().numpy()
    if n_classes is None:
        classes, index = np.unique(index, return_inverse=True)
        n_classes = len(classes)
    return np.asarray(np.eye(n_classes)[index] - 1 / n_classes)
