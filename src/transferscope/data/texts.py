"""A user's texts: files with a column of texts, or two of pairs, tokenized by the tokenizer of a model."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Int32

from transferscope.data.apart import group_note
from transferscope.data.arrays import Parts, read_apart
from transferscope.data.cells import is_text
from transferscope.data.frame import place_of, read_frame
from transferscope.data.hf_dataset import read_columns
from transferscope.data.places import check_bytes, find_path
from transferscope.data.spec import DataSpec
from transferscope.data.tables import TableSettings, apart_by, read_labels, rows_of_table, with_labels
from transferscope.data.task import KINDS, Kind
from transferscope.errors import (
    CorruptDataError,
    DataError,
    MissingDataError,
    SettingsError,
    first_line,
    missing_extra,
    missing_file,
    out_of_range,
    unknown_name,
)
from transferscope.files import expanded, json_object
from transferscope.once import made_once

MAX_LENGTH = 128
"""Default number of tokens at which texts are truncated."""

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet")
_MOST_TOKENS = 1 << 16


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of a text, or of a joined pair.

    Attributes:
        ids: Token ids.
        texts: Token types: 1 for tokens of the second text of a pair, 0 for others.
        is_cut: Whether tokens were truncated.
    """

    ids: Sequence[int]
    texts: Sequence[int]
    is_cut: bool


@runtime_checkable
class Tokenizer(Protocol):
    """Tokenizer of a model.

    Attributes:
        digest: Checksum of everything that determines the ids of a text.
        longest: Most tokens that its model accepts.
        limit: Origin of that number, such as a field of config.json; empty if it has none.
    """

    digest: str
    longest: int
    limit: str

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The text of each token in id order, as in "##ing"; "" for special tokens."""
        ...

    def encode(self, first: Sequence[str], second: Sequence[str] | None, *, max_length: int) -> list[Encoded]:
        """Tokenize texts, or pairs, with the special tokens of the model, truncated to `max_length` tokens."""
        ...


@dataclass(frozen=True, slots=True)
class TextSettings:
    """Columns of a file of texts, and settings for reading them.

    Attributes:
        text: The column of the texts.
        pair: The column of the second texts; None for single texts.
        label: The column of the labels; for several labels of each text also columns of 0 and 1, separated by commas.
            None for texts without labels.
        max_length: Tokens at which a text, or a joined pair, is truncated, from 1 to 65,536; fewer if the model accepts
            fewer (`longest_text`).
        pairs: "joined" for one sequence per pair, as in cross-encoders; "apart" for two, as in bi-encoders.
        kind: Kind of the labels; None for classes, or for several labels with a separator.
        separator: Separator of the names of several labels in one column, which implies that kind; None for none.
        has_header: Whether the first line of a tsv or csv file has the column names; otherwise columns are numbered
            from 1.
        split: A column with "train", "test" or another name of `split_names` in each row; None for none.
        group: The column of groups, such as authors; as `time`, it is used as in `TableSettings`.

    Raises:
        SettingsError: A setting is out of range, or columns are given twice.
    """

    text: str
    pair: str | None = None
    label: str | None = None
    max_length: int = MAX_LENGTH
    pairs: Literal["joined", "apart"] = "joined"
    kind: Kind | None = None
    has_header: bool = True
    separator: str | None = None
    split: str | None = None
    group: str | None = None
    time: str | None = None

    @property
    def several(self) -> bool:
        """Whether each text has several labels."""
        return self.kind == "multi-label" or (self.kind is None and self.separator is not None)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the texts."""
        return (self.text,) if self.pair is None else (self.text, self.pair)

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of the labels."""
        if self.label is None:
            return ()
        return tuple(name.strip() for name in self.label.split(",")) if self.several else (self.label,)

    def __post_init__(self) -> None:
        if not 1 <= self.max_length <= _MOST_TOKENS:
            raise out_of_range("max_length", self.max_length, f"1 to {_MOST_TOKENS} tokens")
        if self.separator is not None and (not self.several or len(self.labels) > 1):
            raise SettingsError(
                f"separator={self.separator} is for one column of label names; leave it out, or give one column and "
                "no other kind"
            )
        named = [*self.inputs, *self.labels]
        twice = [name for name in named if named.count(name) > 1]
        if twice:
            raise SettingsError(f"column {twice[0]!r} is given twice, as text, pair or label; give it once")
        if self.pairs == "apart" and self.pair is None:
            raise SettingsError("pairs=apart is for pairs of texts; give the second column with pair=COLUMN")


def text_settings(spec: DataSpec) -> TextSettings:
    """Return the text settings in a data name; raises SettingsError for a missing column or an invalid option."""
    text, label = spec.one("text"), spec.one("label")
    if text is None or label is None:
        raise SettingsError(
            f"{spec.text!r} lacks its columns; write 'text:PATH?text=COLUMN&label=COLUMN', and &pair=COLUMN for pairs"
        )
    return TextSettings(
        text,
        pair=spec.one("pair"),
        label=label,
        max_length=spec.integer("max_length") or MAX_LENGTH,
        pairs=spec.choice("pairs", ("joined", "apart")) or "joined",
        kind=spec.choice("kind", KINDS),
        has_header=spec.choice("header", ("yes", "no")) != "no",
        separator=spec.one("separator"),
        split=spec.one("split"),
        group=spec.one("group"),
        time=spec.one("time"),
    )


def load_texts(
    path: Path,
    settings: TextSettings,
    tokenizer: Tokenizer,
    *,
    test_file: Path | None = None,
    test_share: float | None = None,
    seed: int,
) -> Parts:
    """Read a training and a test set of texts.

    Args:
        path: A .tsv file (without quoting, as in GLUE), .csv (quoted), .jsonl (one object per line) or .parquet.
        test_file: Another file with the same columns: the test set.
        test_share: Otherwise, share of rows for a seeded, stratified test set; None for 0.2.

    Returns:
        Training and test part; inputs as in `LabelledSet`, (N, 2, max_length) or (N, 4, max_length).

    Raises:
        CorruptDataError: A file cannot be parsed.
        UnknownNameError: A named column does not exist.
        DataError: A text or label is empty, is not text, or has no tokens; or labels could be classes or numbers.
        SettingsError: The test set is chosen in several ways.
    """
    given = TableSettings(
        settings.labels,
        kind=settings.kind,
        separator=settings.separator,
        test_file=test_file,
        split=settings.split,
        test_share=test_share,
        group=settings.group,
        time=settings.time,
    )
    files = [path] if test_file is None else [path, test_file]
    tables = [_read_file(file, settings) for file in files]
    for place, table in enumerate(tables):  # numbers of JSON stay numbers; text stays text
        numbers = {name: table[name].infer_objects() for name in settings.labels if not is_text(table[name])}
        tables[place] = table.assign(**numbers)
    read = [_tokens(table, settings, tokenizer, file) for table, file in zip(tables, files, strict=True)]
    given, kind, tables = with_labels(tables, given, files)
    inputs, note = [tokens for tokens, _ in read], ""
    if test_file is None:
        train, test, note = rows_of_table(tables[0], given, kind, path, inputs=settings.inputs, seed=seed)
        inputs, tables = [inputs[0][rows] for rows in (train, test)], [tables[0].iloc[rows] for rows in (train, test)]
    own, names = read_labels(tables[0], given, kind, path)
    others, _ = read_labels(tables[1], given, kind, files[-1], names=names)
    parts = read_apart(inputs, (own, others), name=str(path), kind=kind, label_names=names)
    parts = apart_by(pd.concat(tables), given, path).kept(parts)
    hint = "" if settings.group else group_note(tables[0].drop(columns=[*settings.inputs, *settings.labels]))
    n_cut = sum(n for _, n in read)
    length = inputs[0].shape[-1]
    limit = f", the most that the model reads ({tokenizer.limit})" if length == tokenizer.longest else ""
    spelled = [replace(part, vocabulary=tokenizer.vocabulary) for part in (parts.train, parts.test)]
    parts = replace(parts, train=spelled[0], test=spelled[1])
    words = f"{n_cut} texts were cut to {length} tokens{limit}" if n_cut else ""
    return replace(parts, words="; ".join(filter(None, (words, note, parts.words, hint))))


def labels_of(path: Path, settings: TextSettings) -> list[object] | None:
    """Return the raw labels of a file; None if it has no such column. Raises like `load_texts`."""
    table = _frame(path, settings)
    if not set(settings.labels) <= set(table.columns):
        return None
    return [value for name in settings.labels for value in table[name].tolist()]


def read_texts(path: Path, settings: TextSettings, tokenizer: Tokenizer) -> Int32[np.ndarray, "N K L"]:
    """Return tokens of texts without reading labels; raises like `load_texts`."""
    return _tokens(_read_file(path, settings), settings, tokenizer, path)[0]


@made_once(lambda name: name)
def open_tokenizer(name: str) -> Tokenizer:
    """Open the tokenizer of a transformers model.

    Args:
        name: A folder with `tokenizer.json`, or an id on the Hugging Face hub, which is downloaded once.

    Raises:
        MissingDataError: There is no such folder, file or id.
        MissingExtraError: The package tokenizers is absent.
        CorruptDataError: The file is not a tokenizer.
    """
    try:
        return _FastTokenizer(_tokenizer_file(name.removeprefix("hf:")))
    except ImportError as error:
        raise missing_extra("tokenizers", "hf", "reading texts") from error


def tokenizer_of(spec: DataSpec) -> Tokenizer:
    """Return the tokenizer in a name of texts; raises SettingsError if it has none."""
    named = spec.one("tokenizer")
    if named is None:
        raise SettingsError(
            f"{spec.text!r} has no tokenizer; add &tokenizer=FOLDER of the model, or give a network as hf:FOLDER with "
            "a tokenizer.json"
        )
    return open_tokenizer(named)


class _FastTokenizer:
    """A `tokenizer.json` with the settings of the files beside it. These are `tokenizer_config.json` of transformers,
    and `do_lower_case` and the default prompt of sentence-transformers.
    """

    def __init__(self, file: Path) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # its threads do not survive a fork
        self.file = file
        sentences = _sentence_settings(file)[0]
        of_encoder, of_tokenizer = _settings(file, "config_sentence_transformers.json"), _settings(file, _BESIDE)
        try:
            self._fast, self._side = _opened(file)
            self.longest, self.limit = longest_text(file.parent)
            self._fast.no_padding()
            if sentences.get("do_lower_case"):
                self._fast.normalizer = _in_lower_case(self._fast)
            prompt = of_encoder.get("default_prompt_name")
            self._prompt = "" if prompt is None else str(of_encoder["prompts"][prompt])
            self._has_types = "token_type_ids" in of_tokenizer.get("model_input_names", ("token_type_ids",))
        except (ImportError, CorruptDataError):
            raise
        except Exception as error:  # the packages raise bare Exception
            raise CorruptDataError(
                f"{file} is not a tokenizer ({first_line(error)}); download the folder again"
            ) from error
        own = {key: value for key, value in json.loads(self._fast.to_str()).items() if key not in _OF_CALLS}
        decisive = json.dumps([own, self._side, self._prompt, self._has_types], sort_keys=True)
        self.digest = hashlib.sha256(decisive.encode()).hexdigest()

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        special = {id for id, token in self._fast.get_added_tokens_decoder().items() if token.special}
        size = 1 + max(self._fast.get_vocab(with_added_tokens=True).values(), default=-1)
        return tuple("" if i in special else self._fast.id_to_token(i) or "" for i in range(size))

    def encode(self, first: Sequence[str], second: Sequence[str] | None, *, max_length: int) -> list[Encoded]:
        try:
            self._fast.enable_truncation(min(max_length, self.longest), direction=self._side)
            texts = [[self._prompt + text for text in column] for column in (first, second) if column is not None]
            given = texts[0] if second is None else list(zip(*texts, strict=True))
            return [
                Encoded(one.ids, one.type_ids if self._has_types else [0] * len(one.ids), bool(one.overflowing))
                for one in self._fast.encode_batch(given)
            ]
        except Exception as error:  # the package raises bare Exception
            raise DataError(
                f"the tokenizer {self.file} cannot truncate texts to {max_length} tokens: {error}"
            ) from error


_BESIDE = "tokenizer_config.json"
_OF_CALLS = ("truncation", "padding", "version")  # keys of tokenizer.json that `encode` sets

SENTENCE_SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""Settings files of sentence-transformers; the first that exists is used."""


def _settings(file: Path, name: str) -> dict[str, Any]:
    """Return the settings in a file beside a tokenizer; empty if there is none."""
    place = file.with_name(name)
    if not place.is_file():
        return {}
    return json_object(place, "settings of a tokenizer", "fetch the folder again")


def _sentence_settings(file: Path) -> tuple[dict[str, Any], str]:
    """Return the settings of sentence-transformers beside a tokenizer, and their file; empty if there are none."""
    found = ((settings, name) for name in SENTENCE_SETTINGS if (settings := _settings(file, name)))
    return next(found, ({}, ""))


_OFFSET = (
    *("roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "data2vec-text", "esm", "ibert"),
    *("layoutlmv3", "lilt", "longformer", "luke", "markuplm", "mpnet", "xmod"),
)
"""Values of `model_type` in transformers whose position ids start after the padding id."""


def longest_text(folder: Path) -> tuple[int, str]:
    """Return the most tokens that a model accepts, and the field that declares it.

    Of `max_position_embeddings` in config.json, `max_seq_length` of sentence-transformers and `model_max_length` of the
    tokenizer, the smallest counts. RoBERTa and related models leave `pad_token_id` + 1 positions unused.

    Raises:
        CorruptDataError: A file is not JSON, or the field is not a number.
    """
    beside = folder / "tokenizer.json"
    whole, (sentences, name) = _settings(beside, "config.json"), _sentence_settings(beside)
    limits: list[tuple[object, str]] = [
        (sentences.get("max_seq_length"), f"max_seq_length in {name}"),
        (_settings(beside, _BESIDE).get("model_max_length"), f"model_max_length in {_BESIDE}"),
    ]
    for config in (whole, whole.get("text_config")):
        if isinstance(config, dict):
            kind, padding = str(config.get("model_type")), config.get("pad_token_id", 1)
            field = "n_positions" if kind.startswith(("gpt", "openai-gpt", "ctrl")) else "max_position_embeddings"
            positions = config.get(field)
            if kind in _OFFSET and isinstance(positions, int) and isinstance(padding, int):
                positions -= padding + 1
            limits.append((positions, f"{field} in config.json"))
    strange = next((f"{what} is {n!r}" for n, what in limits if not isinstance(n, int | float | None)), None)
    if strange is not None:
        raise CorruptDataError(f"{folder}: {strange}; expected the number of tokens that the tokenizer may give")
    stated = [(int(n), what) for n, what in limits if isinstance(n, int | float) and 1 <= n < _MOST_TOKENS]
    return min(stated, key=lambda one: one[0], default=(_MOST_TOKENS, ""))


def _opened(file: Path) -> tuple[Any, str]:
    """Open a tokenizer; also return its truncation side."""
    from tokenizers import Tokenizer as Fast

    if file.name != "tokenizer.json" or not file.with_name(_BESIDE).is_file():
        return Fast.from_file(str(file)), "right"
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(file.parent), local_files_only=True, trust_remote_code=False)
    fast = tokenizer.backend_tokenizer
    fast.encode_special_tokens = bool(tokenizer.split_special_tokens)
    return fast, tokenizer.truncation_side


def _in_lower_case(fast: Any) -> Any:
    """Return the normaliser of a tokenizer, with lower-casing added if missing."""
    from tokenizers import normalizers

    own = json.loads(fast.to_str())["normalizer"] or {"normalizers": []}
    if any(one["type"] == "Lowercase" for one in own.get("normalizers", [own])):
        return fast.normalizer
    return normalizers.Sequence([normalizers.Lowercase(), *([fast.normalizer] if fast.normalizer is not None else [])])


def _tokenizer_file(name: str) -> Path:
    try:
        folder = find_path(name)
    except MissingDataError as error:
        if expanded(name).is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
            raise missing_file("folder", name, "give the model's folder with its tokenizer.json") from error
        from huggingface_hub import snapshot_download

        try:
            folder = Path(snapshot_download(name, allow_patterns=["*.json"]))
        except Exception as failed:  # errors of the connection, the hub or the name
            raise MissingDataError(
                f"{name} is not a local folder, and its tokenizer.json cannot be downloaded from the hub"
            ) from failed
    file = folder / "tokenizer.json" if folder.is_dir() else folder
    if not file.is_file():
        raise MissingDataError(
            f"{folder} has no tokenizer.json; give the model's folder, as written by save_pretrained of its tokenizer"
        )
    return file


def _read_file(path: Path, settings: TextSettings) -> pd.DataFrame:
    """Read the columns of the settings as text, in which "NA" and "null" are words."""
    suffix, wanted = (
        path.suffix.lower(),
        [*settings.inputs, *settings.labels, *filter(None, (settings.group, settings.time))],
    )
    if path.is_dir():
        return read_columns(path, wanted)
    if suffix not in FORMATS:
        raise DataError(f"{path} ends in {suffix or 'no suffix'}; expected {', '.join(FORMATS)}")
    table = _frame(path, settings)
    for name in wanted:
        if name not in table.columns:
            if name.isdecimal() and settings.has_header and suffix in (".tsv", ".csv"):
                raise SettingsError(
                    f"{path} has no column {name!r}; for a file without a header, whose columns are numbered from 1, "
                    "add &header=no"
                )
            if "," in name and set(map(str.strip, name.split(","))) <= set(map(str, table.columns)):
                raise SettingsError(
                    f"{path} has no column {name!r}; for several labels per text, add &kind=multi-label"
                )
            raise unknown_name(f"column of {path.name}", name, [str(column) for column in table.columns])
    return table


def _frame(path: Path, settings: TextSettings) -> pd.DataFrame:
    quoted = path.suffix.lower() != ".tsv"
    return read_frame(path, as_it_is=True, quoted=quoted, has_header=settings.has_header).rows


def _texts(table: pd.DataFrame, name: str, path: Path) -> list[str]:
    values = table[name].tolist()
    empty = [row for row, value in enumerate(values) if value is None or value != value or not str(value).strip()]
    if empty:
        first = place_of(table.index, empty[0])
        raise DataError(
            f"{path}: column {name!r} is empty in {len(empty)} of {len(values)} rows (first: {first}); remove them, "
            "or choose another column"
        )
    strange = next((value for value in values if not isinstance(value, str)), None)
    if strange is not None:
        raise DataError(f"{path}: column {name!r} holds {strange!r}; expected text")
    return values


def _tokens(
    table: pd.DataFrame, settings: TextSettings, tokenizer: Tokenizer, path: Path
) -> tuple[Int32[np.ndarray, "N K L"], int]:
    """Return tokens of a table's texts, and the number of truncated examples."""
    columns = [_texts(table, name, path) for name in settings.inputs]
    readings: list[tuple[list[str], list[str] | None]] = [(column, None) for column in columns]
    if settings.pairs == "joined" and len(columns) > 1:
        readings = [(columns[0], columns[1])]
    length = min(settings.max_length, tokenizer.longest)
    check_bytes(path, len(table) * 2 * len(readings) * length * 4)
    tokens = np.full((len(table), 2 * len(readings), length), -1, dtype=np.int32)
    cut = np.zeros(len(table), dtype=bool)
    for which, (texts, others) in enumerate(readings):
        for row, one in enumerate(tokenizer.encode(texts, others, max_length=length)):
            if not one.ids:
                place = place_of(table.index, row)
                raise DataError(f"{path}: the text {texts[row][:40]!r} of {place} has no tokens; remove that row")
            tokens[row, 2 * which, : len(one.ids)] = one.ids
            tokens[row, 2 * which + 1, : len(one.ids)] = one.texts
            cut[row] |= one.is_cut
    return tokens, int(cut.sum())
