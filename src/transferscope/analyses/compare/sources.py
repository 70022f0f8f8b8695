"""Sources of a comparison in the form of a study file: data by name, and pretrained networks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from transferscope.arguments import seen
from transferscope.data.memory import DATA_WORDS, Data, is_data
from transferscope.errors import SettingsError
from transferscope.files import written_whole
from transferscope.models import NetworkInput, NetworkSettings, Pretrained
from transferscope.models.build import makes_network
from transferscope.models.build import seen_from as network_seen_from
from transferscope.models.weights import digest_of
from transferscope.wording import slug

Source = Data | Pretrained | nn.Module
"""A source: data, or a pretrained network."""


def checked_target(target: object) -> Data:
    """Return the target; refuse a network, which was probably given in place of the source."""
    target = str(target) if isinstance(target, Path) else target
    if not is_data(target) or (isinstance(target, str) and makes_network(target)):
        raise SettingsError(
            f"the target is given as {seen(target)}; expected {DATA_WORDS}: compare(target, sources) takes the target "
            "first"
        )
    return target


def as_list(sources: Source | Iterable[Source]) -> list[Source]:
    """Return one source, or several, as a list; raises SettingsError for other values."""
    if is_data(sources) or isinstance(sources, Pretrained | nn.Module):
        return [sources]
    given = list(sources) if isinstance(sources, Iterable) and not isinstance(sources, Mapping) else [sources]
    for one in given:
        if not is_data(one) and not isinstance(one, Pretrained | nn.Module):
            raise SettingsError(
                f"sources is given as {seen(sources)}; expected {DATA_WORDS}, a Pretrained, a torch.nn.Module, or a "
                "list of these"
            )
    return given


def named_sources(sources: Sequence[Source], folder: Path) -> list[Data | Pretrained]:
    """Return sources as a study file can hold them: names of networks or data; modules are written to the folder.

    A reference to code ("package.module:function") is a network if it leads to a class of modules, or to a function
    that can be called without arguments; a function of a `DataSpec` and a seed is data.

    Raises:
        SettingsError: A module cannot be created in another process, or a reference does not exist.
    """

    def named(source: Source) -> Data | Pretrained:
        source = str(source) if isinstance(source, Path) else source
        if isinstance(source, nn.Module):
            return pretrained_module(source, folder)
        return Pretrained(NetworkSettings(source)) if isinstance(source, str) and makes_network(source) else source

    return [named(source) for source in sources]


def source_table(pretrained: Pretrained) -> dict[str, Any]:
    """Return a pretrained network as a table of a study file."""
    network = pretrained.network
    if network.widths is not None:
        raise SettingsError(
            f"{pretrained.name} is a {network.name} of widths {network.widths}, which only a study file can give: "
            "[network] widths, and weights in [sources.NAME]"
        )
    table = {"network": network_seen_from(network.name, Path.cwd()), **network_settings(network)}
    if pretrained.weights is not None:
        table["weights"] = str(pretrained.weights.expanduser().absolute())
    return table if pretrained.least_share == 1 else {**table, "least_share": pretrained.least_share}


def network_settings(network: NetworkSettings) -> dict[str, Any]:
    """Return the given options, head and input of a network."""
    known = {} if network.input is None else {k: v for k, v in asdict(network.input).items() if v is not None}
    given = {"options": dict(network.options), "head": network.head, "input": known}
    return {name: value for name, value in given.items() if value}


def pretrained_module(module: nn.Module, folder: Path) -> Pretrained:
    """Return a module in memory as a pretrained network that every process can open.

    A model of transformers is saved with `save_pretrained`. For any other module the weights are saved, and its class
    must be importable and callable without arguments.

    Args:
        module: The module with its trained weights; its attribute `input`, a `NetworkInput`, gives the input scaling
            unless it is given elsewhere.
        folder: Output folder; file names are digests of the content.

    Raises:
        SettingsError: The module cannot be created in another process.
    """
    state = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in module.state_dict().items()}
    digest, kind = digest_of(state), type(module)
    own_input, folder = getattr(module, "input", None), folder.absolute()
    known = own_input if isinstance(own_input, NetworkInput) else None
    if hasattr(module, "save_pretrained") and hasattr(module, "config"):
        saved = folder / f"{slug(kind.__name__)}-{digest[:16]}"
        if not (saved / "config.json").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            save: Any = module.save_pretrained
            save(saved)
        return Pretrained(NetworkSettings(f"hf:{saved}", input=known))
    reason = ""
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        reason = "its class is not in a module that another process can import"
    else:
        try:
            made = kind().state_dict()
            if {n: t.shape for n, t in made.items()} != {n: t.shape for n, t in state.items()}:
                reason = "its class makes other layers when it is called without arguments"
        except Exception as error:  # code of another package may raise anything
            reason = f"its class cannot be called without arguments ({' '.join(str(error).split())})"
    if reason:
        raise SettingsError(
            f"the {kind.__name__} in memory cannot be rebuilt in another process: {reason}; save its state_dict and "
            "give Pretrained(NetworkSettings('file.py:function'), Path(FILE)), where function builds it, or a model "
            "of transformers"
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{slug(kind.__name__)}-{digest[:16]}.safetensors"
    if not path.is_file():
        with written_whole(path) as unfinished:
            save_file(state, unfinished)
    return Pretrained(NetworkSettings(f"{kind.__module__}:{kind.__qualname__}", input=known), path)
