"""Files of texts: columns, quoting, what is refused; by a tokenizer of this file, one token for each word."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from transferscope.data.spec import parse_spec
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.data.texts import Encoded, TextSettings, load_texts, text_settings, tokenizer_of
from transferscope.data.transforms import apply_transforms
from transferscope.errors import CorruptDataError, DataError, MissingDataError, SettingsError, TransferscopeError
from transferscope.models import NetworkInput
from transferscope.training import pixel_scale, to_tensors
from transferscope.training.tensors import check_kind


class Words:
    """A word's id is its length; 1 begins a text and 2 ends it, as [CLS] and [SEP] do."""

    digest, longest, limit = "words", 1 << 16, ""
    vocabulary = ("",) * 10 + tuple("x" * n for n in range(50))

    def encode(self, first: Sequence[str], second: Sequence[str] | None, *, max_length: int) -> list[Encoded]:
        found = []
        for row, text in enumerate(first):
            ids = [1, *(len(word) + 10 for word in text.split()), 2]
            texts = [0] * len(ids)
            if second is not None:
                other = [*(len(word) + 10 for word in second[row].split()), 2]
                ids, texts = ids + other, texts + [1] * len(other)
            found.append(Encoded(ids[:max_length], texts[:max_length], len(ids) > max_length))
        return found


PAIR = TextSettings("a", "b", "label", max_length=8)
SINGLE = TextSettings("a", None, "label", max_length=6)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def tsv(folder: Path, rows: Sequence[str], name: str = "texts.tsv", header: str = "a\tb\tlabel") -> Path:
    return written(folder, name, "\n".join([header, *rows, ""]))


ROWS = ["one two\tthree\tyes", "four\tfive six\tno"] * 5


def test_tokens_are_those_of_the_tokenizer_and_end_in_minus_one(tmp_path: Path) -> None:
    path = tsv(tmp_path, ROWS)
    found = load_texts(path, PAIR, Words(), test_file=path, seed=0)
    train = found.train
    assert str(train.inputs.dtype) == "int32"
    assert train.inputs.shape == (10, 2, 8)
    assert train.is_tokens
    assert not train.is_image
    assert train.inputs[0].tolist() == [[1, 13, 13, 2, 15, 2, -1, -1], [0, 0, 0, 0, 1, 1, -1, -1]]
    assert train.inputs[1].tolist() == [[1, 14, 2, 14, 13, 2, -1, -1], [0, 0, 0, 1, 1, 1, -1, -1]]
    assert (train.classes, train.labels.tolist()[:2], found.words) == (("no", "yes"), [1, 0], "")
    apart = load_texts(path, replace(PAIR, pairs="apart"), Words(), test_file=path, seed=0).train.inputs
    assert apart[0].tolist() == [
        [1, 13, 13, 2, *[-1] * 4], [0, 0, 0, 0, *[-1] * 4], [1, 15, 2, *[-1] * 5], [0, 0, 0, *[-1] * 5],
    ]  # fmt: skip
    cut = load_texts(path, replace(PAIR, max_length=4), Words(), test_file=path, seed=0)
    assert (cut.words, cut.train.input_shape) == ("20 texts were cut to 4 tokens", (2, 4))


def test_a_fifth_is_split_off_where_there_is_no_test_file(tmp_path: Path) -> None:
    parts = load_texts(tsv(tmp_path, ROWS), SINGLE, Words(), seed=0)
    assert (len(parts.train), len(parts.test), parts.test.class_counts().tolist()) == (8, 2, [1, 1])
    with pytest.raises(SettingsError, match="give one of them to choose the test set"):
        load_texts(tsv(tmp_path, ROWS), SINGLE, Words(), test_file=tmp_path, test_share=0.5, seed=0)


def test_every_format_gives_the_same_texts(tmp_path: Path) -> None:
    texts = ['he said "no', 'a, b "c"', "NA", "null", "one\u2028two\x85x"]  # a lone quotation mark, words that pandas
    labels = ["1", "0", "1", "0", "1"]  # takes for nothing, and marks at which str.splitlines splits
    table = pd.DataFrame({"a": texts, "label": labels})
    files = [written(tmp_path, "t.tsv", "\ufeffa\tlabel\r\n" + "".join(f"{t}\t{v}\r\n" for t, v in zip(texts, labels)))]  # noqa: B905
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    rows = [{"label": int(v), "a": t, "other": [1]} for t, v in zip(texts, labels, strict=True)]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    files += [tmp_path / "t.csv", tmp_path / "t.parquet", written(tmp_path, "t.jsonl", "\n".join(lines))]
    sets = [load_texts(file, SINGLE, Words(), test_file=file, seed=0).train for file in files]
    assert [one.fingerprint for one in sets] == [sets[0].fingerprint] * 4
    assert sets[0].inputs[0, 0].tolist() == [1, 12, 14, 13, 2, -1]
    bare = written(tmp_path, "bare.tsv", "one two\t0\nthree\t1\n")
    numbered = replace(SINGLE, text="1", label="2", has_header=False)
    assert len(load_texts(bare, numbered, Words(), test_file=bare, seed=0).train) == 2


def test_several_labels_are_columns_or_names_in_one(tmp_path: Path) -> None:
    truth = [[i % 2 == 0, i % 3 == 0] for i in range(20)]
    columns = [f"word {'x' * (i + 1)}\t{int(a)}\t{int(b)}" for i, (a, b) in enumerate(truth)]
    named = [f"word {'x' * (i + 1)}\t{'|'.join(['ant'] * a + ['bee'] * b)}" for i, (a, b) in enumerate(truth)]
    lists = [{"a": f"word {'x' * (i + 1)}", "tags": ["ant"] * a + ["bee"] * b} for i, (a, b) in enumerate(truth)]
    several = TextSettings("a", None, "ant,bee", max_length=6, kind="multi-label")
    ways = {
        tsv(tmp_path, columns, "columns.tsv", "a\tant\tbee"): several,
        tsv(tmp_path, named, "named.tsv", "a\ttags"): replace(several, label="tags", kind=None, separator="|"),
        written(tmp_path, "lists.jsonl", "\n".join(map(json.dumps, lists))): replace(several, label="tags"),
    }
    for path, settings in ways.items():
        parts = load_texts(path, settings, Words(), test_file=path, seed=0)
        assert (parts.train.kind, parts.train.classes) == ("multi-label", ("ant", "bee"))
        assert parts.train.labels.tolist() == truth
        split = load_texts(path, settings, Words(), seed=0)
        assert (len(split.train), len(split.test)) == (16, 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"label": "ant,bee", "kind": None}, "for several labels per text, add &kind=multi-label"),
        ({"label": "ant,cat"}, "unknown column of columns.tsv 'cat'"),
        ({"label": "ant,a"}, "'a' is given twice"),
        ({"label": "ant"}, "expected lists of labels, or names with a separator, as in separator="),
        ({"label": "ant,odd"}, "label column 'odd' holds 'maybe' in 1 of 4 rows; expected 0 or 1"),
        ({"label": "ant,all"}, "every training example has the label 'all', so it cannot be learnt"),
        ({"label": "none", "separator": "|"}, "label column 'none' is empty in every row; choose another"),
        ({"separator": "|"}, "separator=| is for one column of label names"),
    ],
)
def test_several_labels_that_cannot_be_read_are_one_sentence(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rows = [f"word {'x' * (i + 1)}\t{i % 2}\t{int(i == 0)}\t1\t{'maybe' if i == 1 else i % 2}\t" for i in range(4)]
    path = tsv(tmp_path, rows, "columns.tsv", "a\tant\tbee\tall\todd\tnone")
    given: dict[str, Any] = {"label": "ant,bee", "kind": "multi-label", "max_length": 6, **settings}
    with pytest.raises(TransferscopeError) as caught:
        load_texts(path, TextSettings("a", **given), Words(), test_file=path, seed=0)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "settings", "message"),
    [
        (["x\ty\t1", "\ty\t0"], PAIR, r"column 'a' is empty in 1 of 2 rows \(first: line 3\)"),
        (["x\t \t1"], PAIR, "column 'b' is empty in 1 of 1 rows"),
        (["x\ty\t"], PAIR, "label column 'label' is empty, NA or infinite in 1 of 1 rows"),
        (["x\ty\t1\t2"], PAIR, "has 4 values in line 2, but 3 names"),
        ([], PAIR, "has no rows"),
        (["x\ty\tz"], replace(PAIR, kind="regression"), "holds 'z'; expected numbers"),
        (["x\ty\t1"], replace(PAIR, text="text"), "unknown column of texts.tsv 'text'.*known are a, b, label"),
        (["x\ty\t1"], replace(PAIR, text="1"), "for a file without a header.*&header=no"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    rows: list[str], settings: TextSettings, message: str, tmp_path: Path
) -> None:
    path = tsv(tmp_path, rows)
    with pytest.raises(TransferscopeError, match=message) as caught:
        load_texts(path, settings, Words(), test_file=path, seed=0)
    assert "\n" not in str(caught.value)


def test_other_files_and_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ends in .txt; expected .tsv"):
        load_texts(written(tmp_path, "a.txt", "x"), SINGLE, Words(), seed=0)
    with pytest.raises(CorruptDataError, match=r"line 1 is not an object"):
        load_texts(written(tmp_path, "a.jsonl", "[1]"), SINGLE, Words(), seed=0)
    path = written(tmp_path, "n.jsonl", '{"a": 3, "label": 1}')
    with pytest.raises(DataError, match="column 'a' holds 3; expected text"):
        load_texts(path, SINGLE, Words(), seed=0)
    with pytest.raises(SettingsError, match="lacks its columns"):
        text_settings(parse_spec("text:a.tsv?text=a"))
    with pytest.raises(SettingsError, match="column 'a' is given twice"):
        text_settings(parse_spec("text:a.tsv?text=a&label=a"))
    with pytest.raises(SettingsError, match="pairs=apart is for pairs"):
        text_settings(parse_spec("text:a.tsv?text=a&label=b&pairs=apart"))
    with pytest.raises(SettingsError, match="max_length = 70000"):
        text_settings(parse_spec("text:a.tsv?text=a&label=b&max_length=70000"))
    with pytest.raises(SettingsError, match=r"has no tokenizer; add &tokenizer=FOLDER"):
        tokenizer_of(parse_spec("text:a.tsv?text=a&label=b"))
    for name, message in ((str(tmp_path / "none"), "there is no folder"), (str(tmp_path), "has no tokenizer.json")):
        with pytest.raises(MissingDataError, match=message):
            tokenizer_of(parse_spec(f"text:a.tsv?tokenizer={name}"))


def task(tmp_path: Path) -> TransferTask:
    rows = [f"{'w' * (1 + i % 7)} {'v' * (1 + i % 5)}\t{'long' if i % 7 > 3 else 'short'}" for i in range(60)]
    path = tsv(tmp_path, rows, header="a\tlabel")
    parts = load_texts(path, replace(SINGLE, max_length=20), Words(), test_file=path, seed=0)
    return TransferTask(Dataset("texts", parts.train, parts.test))


def test_a_batch_is_cut_to_its_longest_text_and_never_scaled(tmp_path: Path) -> None:
    train = task(tmp_path).target.train
    tensors = to_tensors(train, pixel_scale(train))
    batch = tensors.batch(torch.tensor([3, 5, 1]))
    assert (batch.inputs.dtype, batch.inputs.shape) == (torch.int32, (3, 2, 4))
    assert torch.equal(batch.inputs, torch.from_numpy(train.inputs[[3, 5, 1], :, :4]))


def test_texts_and_numbers_do_not_meet(tmp_path: Path) -> None:
    texts = task(tmp_path).target
    with pytest.raises(DataError, match="the data are texts, but the network expects numbers"):
        check_kind(texts.train, None)
    with pytest.raises(DataError, match=r"token 17, .* 17 tokens"):
        check_kind(texts.train, NetworkInput(vocabulary=17))
    check_kind(texts.train, NetworkInput(vocabulary=18))
    pixels = LabelledSet(np.zeros((2, 1, 8, 8), np.uint8), np.array([0, 1]), ("a", "b"))
    with pytest.raises(DataError, match=r"inputs of shape \(1, 8, 8\), but the network expects texts"):
        check_kind(pixels, NetworkInput(vocabulary=18))
    with pytest.raises(DataError, match="one of source images and target texts is texts"):
        TransferTask(texts, Dataset("images", pixels, pixels))
    with pytest.raises(DataError, match="needs images"):
        apply_transforms(texts, ["resize:8"], seed=0)
    with pytest.raises(DataError, match="expected ids and texts"):
        LabelledSet(np.zeros((2, 3, 4), np.int32), np.array([0, 1]), ("a", "b"))
    with pytest.raises(DataError, match="expected -1 in both"):
        LabelledSet(np.array([[[3, -1], [0, 0]]], np.int32), np.array([0]), ("a",))
    with pytest.raises(SettingsError, match="no size or scaling"):
        NetworkInput(size=3, vocabulary=5)


def test_a_column_that_says_which_rows_are_the_test_set(tmp_path: Path) -> None:
    parts = ["validation", "train", "train", "train", "test", *["train"] * 4, "test"]
    rows = [f"{row}\t{part}" for row, part in zip(ROWS, parts, strict=True)]
    path = tsv(tmp_path, rows, header="a\tb\tlabel\tpart")
    with pytest.raises(DataError, match="give split=part for that, or test_share="):
        load_texts(path, PAIR, Words(), seed=0)
    assert len(load_texts(path, PAIR, Words(), test_share=0.5, seed=0).test) == 5
    found = load_texts(path, replace(PAIR, split="part"), Words(), seed=0)
    whole = load_texts(tsv(tmp_path, ROWS, "all.tsv"), PAIR, Words(), test_file=tsv(tmp_path, ROWS, "two.tsv"), seed=0)
    for part, places in ((found.train, [1, 2, 3, 5, 6, 7, 8]), (found.test, [4, 9])):
        assert np.array_equal(part.inputs, whole.train.inputs[places])
        assert np.array_equal(part.labels, whole.train.labels[places])
    assert "validation is left out" in found.words
    indexed = pd.read_csv(path, sep="\t").set_index(pd.Index([0] * len(rows)))  # as pandas joins tables
    indexed.to_parquet(tmp_path / "own.parquet")
    again = load_texts(tmp_path / "own.parquet", replace(PAIR, split="part"), Words(), seed=0)
    assert again.train.fingerprint == found.train.fingerprint
