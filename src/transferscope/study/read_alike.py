"""Consistent encodings of data: texts with the tokenizer of a network, tables with common features."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from transferscope.data.input_form import table_of_network
from transferscope.data.load import load
from transferscope.data.readers.tables import table_encoding
from transferscope.data.spec import TABLES, parse_spec, with_option
from transferscope.data.task import Dataset
from transferscope.errors import DataError
from transferscope.models import NetworkSettings, Pretrained
from transferscope.models.hubs.huggingface import HuggingFace
from transferscope.settings.data import DataSettings

_LOG = logging.getLogger(__name__)


def load_for(data: DataSettings | Dataset, networks: Sequence[Pretrained]) -> Dataset:
    """Load data for pretrained networks: texts with their tokenizer, tables with the features of exported ones.

    An inferred encoding is logged. Data sets in memory are unchanged.

    Raises:
        DataError: The data cannot be read, or a network reads other tokens or features.
    """
    if isinstance(data, Dataset):
        check_tokenizer(data, [one.network for one in networks])
        return data
    files = files_of(networks)
    name = in_columns_of(in_tokens_of(data.data, [one.network.name for one in networks]), files)
    dataset = load(name, transforms=data.transforms, limit=data.limit, test_limit=data.test_limit)
    check_columns(name, files)
    check_tokenizer(dataset, [one.network for one in networks])
    if name != data.data and "understood" in dataset.provenance:
        _LOG.warning("%s: %s", data.data, dataset.provenance["understood"])
    return dataset


def files_of(networks: Iterable[Pretrained]) -> list[Path]:
    """Return the weight files among pretrained networks."""
    return [one.weights for one in networks if one.weights is not None]


def with_tokenizers(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the tokenizer of the first network with one to a study's texts without a tokenizer."""
    sources = _tables(tables.get("sources"))
    named = [source.get("network") for source in sources.values()] + [_table(tables.get("network")).get("name")]
    networks = [name for name in named if isinstance(name, str)]
    return _changed(tables, lambda name: in_tokens_of(name, networks), target=True)


def with_encodings(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Encode a study's tables without an encoding together, by their training rows.

    A category with enough rows in the target or a source is a feature in all; with an exported network of tables as a
    source, the target has the features of the first one.

    Raises:
        CorruptDataError: The features of an exported network cannot be read.
    """
    target = _table(tables.get("target")).get("data")
    if not isinstance(target, str) or not _is_table(target):
        return tables
    sources = _tables(tables.get("sources")).values()
    files = [source.get(key) for source in sources for key in ("weights", "network")]
    target = in_columns_of(target, [Path(file) for file in files if isinstance(file, str)])
    others = [name for source in sources if isinstance(name := source.get("data"), str) and _is_table(name)]
    target = _together(target, others)
    tables = {**tables, "target": {**tables["target"], "data": target}}
    return _changed(tables, lambda name: in_features_of(name, target), target=False)


def _together(target: str, others: Sequence[str]) -> str:
    """Return the name of a table encoded together with others; unchanged if one of them has an encoding."""
    own = parse_spec(target).options
    if "encoding" in own or "together" in own:
        return target
    joined = [name for name in dict.fromkeys(others) if name != target and "encoding" not in parse_spec(name).options]
    for name in joined:
        target = _with_option(target, "together", name)
    return target


def _is_table(name: str) -> bool:
    return name.partition(":")[0] in TABLES and ":" in name


def _changed(tables: Mapping[str, Any], change: Callable[[str], str], *, target: bool) -> Mapping[str, Any]:
    """Return a study with changed data names, of the sources and optionally of the target."""

    def filled(table: Any) -> Any:
        if not isinstance(table, Mapping):
            return table
        changed = {
            key: change(value) if key == "data" and isinstance(value, str) else value for key, value in table.items()
        }
        further = changed.get("held_out")
        if isinstance(further, Mapping):
            changed["held_out"] = {
                key: change(value) if isinstance(value, str) else value for key, value in further.items()
            }
        return changed

    sources = _tables(tables.get("sources"))
    given = {"sources": {name: filled(source) for name, source in tables["sources"].items()}} if sources else {}
    own = {"target": filled(tables["target"])} if target and "target" in tables else {}
    return {**tables, **own, **given}


def in_tokens_of(name: str, networks: Sequence[str]) -> str:
    """Add the tokenizer of the first named network with one to texts without a tokenizer."""
    options = parse_spec(name).options if name.startswith(("text:", "hf-dataset:")) else {}
    if options.get("tokenizer") or not (name.startswith("text:") or "text" in options):
        return name
    tokenizers = (HuggingFace(one[3:]).tokenizer for one in networks if one.startswith("hf:"))
    folder = next((one for one in tokenizers if one is not None), None)  # without any, what reads the data says so
    if folder is None:
        return name
    return _with_option(name, "tokenizer", str(folder.absolute()))


def in_features_of(name: str, target: str) -> str:
    """Add the features of the target's table to a table without an encoding."""
    if not (_is_table(name) and _is_table(target)):
        return name
    return _with_encoding(name, parse_spec(target).one("encoding") or target)


def in_columns_of(name: str, files: Sequence[Path]) -> str:
    """Add the features of the first exported network that reads tables to a table without an encoding."""
    file = next((file for file in files if _is_table(name) and table_of_network(file) is not None), None)
    return name if file is None else _with_encoding(name, str(file.absolute()))


def check_columns(name: str, files: Sequence[Path]) -> None:
    """Refuse a table whose features differ from those in the files of exported networks; raises DataError."""
    read = {file: encoding.features for file in files if (encoding := table_of_network(file)) is not None}
    if not read or not _is_table(name):
        return
    own = table_encoding(parse_spec(name), 0).features
    for file, features in read.items():
        if features != own:
            other = next((one for one in features if one not in own), None)
            where = "in another order" if other is None else f"among them {other!r}, which the table lacks"
            raise DataError(
                f"{file} was trained on {len(features)} features, {where}, but {name} has {len(own)}; compare "
                "networks of the same features, and give their file as encoding= or leave it out"
            )


def _with_encoding(name: str, encoding: str) -> str:
    return name if parse_spec(name).options.get("encoding") else _with_option(name, "encoding", encoding)


def _with_option(name: str, option: str, value: str) -> str:
    return with_option(name, f"{option}={quote(value, safe='/: ')}")


def check_tokenizer(dataset: Dataset, networks: Sequence[NetworkSettings]) -> None:
    """Refuse texts that a network cannot read: too long, or with another tokenizer; raises DataError.

    The tokens of a folder without a tokenizer.json are unknown.
    """
    digest = dataset.provenance.get("tokenizer")
    if digest is None:
        return
    from transferscope.data.texts import longest_text, open_tokenizer  # here, because pandas takes a while to import

    for network in networks:
        module = network.module
        if not isinstance(module, HuggingFace):
            continue
        folder, length = module.tokenizer, dataset.train.inputs.shape[-1]
        longest, limit = min(longest_text(one) for one in (module.folder, folder) if one is not None)
        if length > longest:
            raise DataError(
                f"the texts of {dataset.name} are padded to {length} tokens, but {network.name} accepts at most "
                f"{longest} ({limit}); add &max_length={longest}"
            )
        if folder is not None and f"sha256:{open_tokenizer(str(folder)).digest}" != digest:
            raise DataError(
                f"{dataset.name} is tokenised for another network than {network.name}; compare networks of one "
                "tokenizer, and give it as &tokenizer=FOLDER or leave it out"
            )


def _table(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _tables(given: object) -> dict[str, Mapping[str, Any]]:
    return {name: table for name, table in _table(given).items() if isinstance(table, Mapping)}
