"""Data read alike where names do not say it: texts in a network's tokens, tables in its features or the target's."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from transferscope.data.readers import TABLES, table_encoding
from transferscope.data.spec import parse_spec
from transferscope.data.task import Dataset
from transferscope.data.unlabelled import table_of_network
from transferscope.errors import DataError
from transferscope.models import NetworkSettings
from transferscope.models.hubs.huggingface import HuggingFace


def with_tokenizers(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """A study whose texts have the tokenizer of its first network that has one, where none is said.

    Args:
        tables: What TOML makes of a study file, right or wrong.

    Raises:
        TransferscopeError: The network's folder cannot be read.
    """
    if not any(needs_tokenizer(name) for name in _data(tables)):
        return tables
    sources = _tables(tables.get("sources"))
    named = [source.get("network") for source in sources.values()] + [_table(tables.get("network")).get("name")]
    folder = tokenizer_folder([name for name in named if isinstance(name, str)])
    if folder is None:
        return tables  # what reads the data says what is missing
    return _changed(tables, lambda name: with_tokenizer(name, folder), target=True)


def with_encodings(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """A study whose source tables have the features of the target's table, where none is said.

    The target's table has those of its first source that is an exported network of tables.

    Args:
        tables: What TOML makes of a study file, right or wrong.

    Raises:
        CorruptDataError: What an exported network reads cannot be told.
    """
    target = _table(tables.get("target")).get("data")
    if not isinstance(target, str) or not _is_table(target):
        return tables
    sources = _tables(tables.get("sources")).values()
    files = [source.get(key) for source in sources for key in ("weights", "network")]
    target = in_columns_of(target, [Path(file) for file in files if isinstance(file, str)])
    tables = {**tables, "target": {**tables["target"], "data": target}}
    return _changed(tables, lambda name: in_features_of(name, target), target=False)


def _is_table(name: str) -> bool:
    return name.partition(":")[0] in TABLES and ":" in name


def _changed(tables: Mapping[str, Any], change: Callable[[str], str], *, target: bool) -> Mapping[str, Any]:
    """A study with the names of its data changed, those of the sources and, where wanted, of the target."""

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
    return {**tables, **({"target": filled(tables.get("target"))} if target else {}), **given}


def tokenizer_folder(networks: Sequence[str]) -> Path | None:
    """The folder of the first of named networks that has a tokenizer; raises as `with_tokenizers`."""
    found = (HuggingFace(name[3:]).tokenizer for name in networks if name.startswith("hf:"))
    return next((folder for folder in found if folder is not None), None)


def needs_tokenizer(name: str) -> bool:
    """Whether a name of data stands for texts and says no tokenizer."""
    if not name.startswith(("text:", "hf-dataset:")):
        return False
    options = parse_spec(name).options
    return (name.startswith("text:") or "text" in options) and not options.get("tokenizer")


def with_tokenizer(name: str, folder: Path) -> str:
    """The name of texts with a tokenizer, where it has none."""
    if not needs_tokenizer(name):
        return name
    return f"{name}{'&' if '?' in name else '?'}tokenizer={quote(str(folder), safe='/: ')}"


def in_tokens_of(name: str, networks: Sequence[str]) -> str:
    """The name of data; of texts that say no tokenizer, with that of the first of named networks that has one."""
    if not needs_tokenizer(name):
        return name
    folder = tokenizer_folder(networks)
    return name if folder is None else with_tokenizer(name, folder.absolute())


def in_features_of(name: str, target: str) -> str:
    """The name of data; of a table that says no encoding, with the features of the target's table."""
    if not (_is_table(name) and _is_table(target)):
        return name
    return _with_encoding(name, parse_spec(target).one("encoding") or target)


def in_columns_of(name: str, files: Sequence[Path]) -> str:
    """The name of data; of a table that says no encoding, with that of the first exported network that reads tables."""
    found = (file for file in files if _is_table(name) and table_of_network(file) is not None)
    file = next(found, None)
    return name if file is None else _with_encoding(name, str(file.absolute()))


def check_columns(name: str, files: Sequence[Path]) -> None:
    """Refuse a table in other features than those of exported networks: a feature would mean something else.

    Args:
        name: The data.
        files: Files of weights; those that say nothing of a table cannot be checked.

    Raises:
        DataError: A network reads other features.
    """
    read = {file: found.features for file in files if (found := table_of_network(file)) is not None}
    if not read or not _is_table(name):
        return
    own = table_encoding(parse_spec(name), 0).features
    for file, features in read.items():
        if features != own:
            other = next((one for one in features if one not in own), None)
            said = "in another order" if other is None else f"among them {other!r}, which the table does not give"
            raise DataError(
                f"{file} was trained on {len(features)} features, {said}, and {name} gives {len(own)}; compare "
                "networks of the same features, and name their file with encoding= or leave that out"
            )


def _with_encoding(name: str, encoding: str) -> str:
    if parse_spec(name).options.get("encoding"):
        return name
    return f"{name}{'&' if '?' in name else '?'}encoding={quote(encoding, safe='/: ')}"


def check_tokenizer(dataset: Dataset, networks: Sequence[NetworkSettings]) -> None:
    """Refuse texts in the tokens of another network: its ids would mean other words.

    Args:
        dataset: The data; of texts, their provenance says the tokenizer.
        networks: Those that read them; one whose folder has no tokenizer.json cannot be checked.

    Raises:
        DataError: A network has another tokenizer.
    """
    digest = dataset.provenance.get("tokenizer")
    if digest is None:
        return
    from transferscope.data.texts import tokenizer_digest  # here, because pandas takes a while to import

    for network in networks:
        module = network.module
        folder = module.tokenizer if isinstance(module, HuggingFace) else None
        if folder is not None and f"sha256:{tokenizer_digest(folder / 'tokenizer.json')}" != digest:
            raise DataError(
                f"{dataset.name} is in the tokens of another tokenizer than that of {network.name}; compare networks "
                "of one tokenizer in a study, and name it with &tokenizer=FOLDER or leave that out"
            )


def _table(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}


def _tables(found: object) -> dict[str, Mapping[str, Any]]:
    return {name: table for name, table in _table(found).items() if isinstance(table, Mapping)}


def _data(tables: Mapping[str, Any]) -> Iterator[str]:
    """Every name of data in a study."""
    for table in (_table(tables.get("target")), *_tables(tables.get("sources")).values()):
        for name in (table.get("data"), *_table(table.get("held_out")).values()):
            if isinstance(name, str):
                yield name
