"""Hostile inputs, a function for each family: what it draws it writes to a folder, and returns the commands to try."""

import dataclasses
import json
import os
import shutil
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import typer
from hypothesis import strategies as st
from PIL import Image
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from fuzz.material import Material, Tables, as_toml
from transferscope.cli.main import app
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.methods import METHODS
from transferscope.models import NetworkSettings
from transferscope.settings.data import TargetSettings, TuningSettings
from transferscope.settings.engine import EngineSettings
from transferscope.study.commands.settings import RunSettings
from transferscope.study.settings import MeasurementScope, SourceSettings
from transferscope.study.tables import setting_names
from transferscope.training import TrainingSettings
from transferscope_papers.catalogue import PAPERS
from transferscope_papers.command import app as papers

T = TypeVar("T")

SECRET = "s3cr3t-pass"
"""Stands as the password in URLs; no output may hold it."""


class Draw:
    """What is left to chance, by hypothesis: a drawn seed for choices, so that inputs differ, and its odd values."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        self._random = data.draw(st.randoms(use_true_random=True))

    def one(self, values: Sequence[T]) -> T:
        """One of them."""
        return self._random.choice(values)

    def whole(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return self._random.randint(least, most)

    def chance(self, percent: int) -> bool:
        """Whether something with this chance happens."""
        return self.whole(0, 99) < percent

    def text(self, most: int = 12) -> str:
        """Some text of any characters that a file in UTF-8 can hold."""
        return self._data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=most))

    def number(self) -> float:
        """Any floating-point number."""
        return self._data.draw(st.floats())

    def bytes(self, most: int = 40) -> bytes:
        """Some bytes."""
        return self._data.draw(st.binary(max_size=most))


Command = list[str]
Family = Callable[[Draw, Material, Path], list[Command]]

# ---- study files ----------------------------------------------------------------------------------------------------

_NUMBERS = [
    *("0", "-1", "1", "2", "7", "0.5", "1.5", "1.0", "0.0", "-0.0", "1_0", "007", "7.0", "0x1f", "3+4j", "²"),
    *("nan", "NaN", "inf", "-inf", "1e400", "1e308", "-1e308", "1e300", "1e-300", "1e-320", "5e-324"),
    *("9223372036854775808", "1180591620717411303424", "-1180591620717411303424"),
    *("9" * 20, "9" * 400, "9" * 5000, "0x" + "f" * 40),
]
_TEXTS = [
    *("", " ", "-", "x", "?", "a?b=c", "None", "true", "2020-01-01", "é" * 300, "a" * 5000, "%s%n", "{}", "line\nline"),
    *("\ufeff", "\x1b[31mred", "../../x", "/", ".", "~", "/dev/zero", "/dev/null/x", "/proc/self/mem"),
    *("npz:", "npz:.", "npz:/dev/zero", "csv:/dev/zero?label=a", "folder:/", "folder:/dev", "digits"),
    *("half-images:half-images:digits", "glyphs?size=8", "glyphs?size=1", "glyphs?size=999999999"),
]
"""Without a null character, which no argument of a command can hold."""

_LITERALS = [
    *_NUMBERS,
    *map(json.dumps, [*_TEXTS, "\0", "\0abc", "npz:\0"]),
    *("1000000000", "9223372036854775807", "true", "false"),
    *("1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "[1979-05-27]"),
    *("[]", "{}", "[[]]", "[{}]", "[1]", "[1, 1]", "[0]", "[-1]", "[1.5]", '["a"]', "[true]", '[1, "a"]'),
    *("[9223372036854775808]", "[1180591620717411303424]", "{ a = 1 }", '{ "" = "" }', "{ a = [] }"),
    "[" * 400 + "]" * 400,
    "[" + ", ".join(["1"] * 2000) + "]",
]
"""Values as they stand in a study file."""

_LONG = {*("steps", "epochs", "seeds", "every"), *("eval_every", "inner_steps", "n_probes", "max_probes", "resolution")}
"""Keys whose large values are valid and take long, as they should."""

_TABLES: dict[str, list[str]] = {
    "": [
        *("name", "seeds", "store", "stor", "target", "methods"),
        *("sources", "diagnostics", "diagnostic", "engine", "tuning", "network"),
    ],
    "target": setting_names(TargetSettings),
    "sources.near": setting_names(SourceSettings),
    "sources.other": setting_names(SourceSettings),
    "network": setting_names(NetworkSettings),
    "pretraining": [*setting_names(TrainingSettings), "sizes", "checkpoints"],
    "training": setting_names(TrainingSettings),
    "tuning": setting_names(TuningSettings),
    "tuning.grid.fine-tune": ["lr", "lr_scale", "steps", "batch_size", "nothing"],
    "engine": setting_names(EngineSettings),
    "track": ["mlflo", "wand", "tensorboard"],
    **{f"methods.{name}": [*setting_names(kind), "method"] for name, kind in METHODS.items()},
    **{
        f"diagnostics.{name}": [*setting_names(kind), *setting_names(MeasurementScope), "diagnostic"]
        for name, kind in DIAGNOSTICS.items()
    },
}

_OF_STUDY = [
    *("status", "report", "rank", "scaling", "plan", "compare --task a", "export --out net"),
    "papers draw liu2019 landscapes --study",
    "papers draw liu2019 fig4 --study",
]
"""What is asked of a study beside running it."""


def study_file(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """A study file with some keys of wrong values, some bytes changed, or nested without end."""
    tables = material.study()
    text = ""
    for _ in range(draw.one([1, 1, 1, 2, 3])):
        _spoil_key(draw, tables)
    way = draw.whole(0, 99)
    if way < 60:
        text = as_toml(tables)
    elif way < 80:
        text = _spoil_text(draw, as_toml(material.study()))
    else:
        text = as_toml(material.study()) + _nested(draw)
    (folder / "study.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    command = "run" if draw.chance(40) else draw.one(_OF_STUDY)
    return [[*command.split(), "study.toml"]]


def _spoil_key(draw: Draw, tables: Tables) -> None:
    table = draw.one(list(_TABLES))
    if table.startswith("tuning"):
        tables.setdefault("tuning", {})
    if table == "sources.other":
        tables.setdefault("sources.other", {"data": tables["sources.near"].get("data", '"x"')})
    key = draw.one(_TABLES[table] or ["x"])
    if draw.chance(10) and table != "engine":  # its default is to start processes, which takes seconds
        tables.pop(table, None) if table else tables[""].pop(draw.one(["name", "seeds", "store"]), None)
        return
    literals = [
        text for text in _LITERALS if key not in _LONG or text not in ("1000000000", "9223372036854775807", "1e300")
    ]
    literals = [text for text in literals if key != "workers" or text not in ("1", "2", "7", "1_0")]
    tables.setdefault(table, {})[key if draw.chance(95) else json.dumps(draw.text())] = draw.one(literals)


def _spoil_text(draw: Draw, text: str) -> str:
    raw = text.encode()
    for _ in range(draw.whole(1, 4)):
        place = draw.whole(0, len(raw))
        match draw.whole(0, 3):
            case 0:
                raw = raw[:place] + draw.bytes() + raw[place:]
            case 1:
                raw = raw[:place] + raw[place + draw.whole(1, 30) :]
            case 2:
                raw = raw[:place] + raw[place : place + draw.whole(1, 60)] + raw[place:]
            case _:
                raw = raw[:place]
    return raw.decode("utf-8", "surrogateescape")


def _nested(draw: Draw) -> str:
    depth = draw.one([10, 99, 500, 3000, 20_000])
    match draw.whole(0, 4):
        case 0:
            return f"[{'.'.join(['a'] * depth)}]\n"
        case 1:
            return f"[methods.fine-tune]\nlr_scale = {'[' * depth}{']' * depth}\n"
        case 2:
            return f"[x]\ny = {'{a=' * depth}1{'}' * depth}\n"
        case 3:
            return f"[sources.near2]\n{'.'.join(['data'] * depth)} = 1\n"
        case _:
            return f"[[{'.'.join(['tuning'] * depth)}]]\n"


# ---- command lines --------------------------------------------------------------------------------------------------

_WORDS = [
    *(*_NUMBERS, *_TEXTS, "--", "--help", "\udcff\udcfe"),
    *("x=", "=x", "a.b=c", "a.b=" + "[" * 3000, "sigma=nan", "k=-1"),
    *("curvature.k=-1", "curvature.k=" + "9" * 25, "weights.x=1", "study.toml", "npz:x", "csv:table.csv"),
    *("csv:table.csv?label=label", "scenes?size=999999999", "scenes?kinds=,&size=8", "sqlite://"),
    *("postgresql://h:xx/d", "cuda", "mps", "gpu", "scratch", "lenet", "mlp", "resize:0", "resize:99999"),
]

_NEVER = {"fetch"}
"""Options that would download."""


def command_line(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """Every command with every option, given what it does not expect."""
    shutil.copy(material.path("study.sqlite"), folder / "study.sqlite")
    (folder / "study.toml").write_text(as_toml(material.study(name="study", store="study.sqlite")))
    shutil.copy(material.path("table.csv"), folder / "table.csv")
    commands: dict[str, Any] = {**vars(typer.main.get_command(app))["commands"]}
    commands["papers"] = vars(typer.main.get_command(papers))["commands"]["draw"]
    name = draw.one(sorted(commands))
    base = _base_commands(material, draw)
    arguments = list(draw.one(base[name]))
    options = [option for option in commands[name].params if option.name not in _NEVER and option.name != "help"]
    for _ in range(draw.one([1, 1, 1, 2, 3]) if options else 0):
        option = draw.one(options)
        value = draw.one(_WORDS) if draw.chance(90) else draw.text().replace("\x00", "")
        flag = next((text for text in option.opts if text.startswith("--")), None)
        if flag is None:
            if arguments and draw.chance(50):
                arguments[draw.whole(0, len(arguments) - 1)] = value
            else:
                arguments.append(value)
        elif getattr(option, "is_flag", False):
            arguments.append(flag)
        else:
            arguments += [flag, value] if draw.chance(90) else [flag]
    if name == "demo":
        arguments += ["--out", "/dev/null/x"]  # the last one counts: a whole demo takes minutes
    if name == "compare" and "--steps" not in arguments:  # nobody waits for the usual budget
        arguments += ["--steps", "2", "--workers", "0", "--set", "pretraining.steps=2", "--set", "race.runs=5"]
    if name == "papers":
        arguments += ["--workers", "0", "--set", draw.one(_WORDS)]
    return [[name, *arguments]]


def _paper_figure(draw: Draw) -> list[str]:
    paper = draw.one(sorted(PAPERS))
    return [paper, draw.one(sorted(PAPERS[paper].figures))]


def _base_commands(material: Material, draw: Draw) -> dict[str, list[list[str]]]:
    target, source = f"npz:{material.path('target.npz')}", f"npz:{material.path('source.npz')}"
    quick = ["--steps", "2", "--set", "pretraining.steps=2", "--seeds", "1", "--workers", "0", "--methods", "fine-tune"]
    weights = material.path("network.safetensors")
    architecture = ["--network", "mlp", "--set", "network.widths=6"]
    looked = [weights, "--data", target, *architecture]
    return {
        "compare": [[target, "--from", source, *quick, "--labels", "6"], [target, "--from", source], [target], []],
        "run": [
            *[["study.toml"], ["study.toml", "--workers", "0"], ["study.toml", "--slurm", "1"], []],
            *[["study.toml", "--join", "--runs", "1"], ["study.sqlite", "--join", "--workers", "0", "--runs", "1"]],
        ],
        "status": [["study.toml"], ["study.sqlite"], []],
        "report": [["study.toml"], ["study.sqlite", "--table", draw.one(["latex", "csv", "parquet"])], []],
        "propose": [[material.path("law.csv"), "--task", "a"], []],
        "demo": [[]],
        "papers": [["list"], ["draw", *_paper_figure(draw)], ["draw", *_paper_figure(draw)], []],
        "scaling": [[material.path("law.csv")], ["study.toml"], []],
        "diagnose": [[*looked, "--diagnostics", "weights"], [*looked, "--set", "examples=9"], []],
        "rank": [["study.toml"], [target, "--from", weights, *architecture, "--labels", "9"], []],
        "plan": [["study.toml"], [material.path("law.csv")], []],
        "export": [["study.toml", "--out", "net"], ["study.sqlite", "--out", "net", "--method", "scratch"], []],
        "predict": [["net", target, "--out", "predictions.csv"], [weights, target, "--out", "predictions.csv"], []],
        "show": [["mlp"], [weights, "--network", "mlp", "--set", "widths=6"], [target], []],
        "doctor": [[], ["--schema", "study"]],
    }


# ---- data files -----------------------------------------------------------------------------------------------------


def data_file(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """Data of every format, damaged, of the wrong kind, or no files at all."""
    maker = draw.one([_csv, _csv, _npz, _npz, _parquet, _images, _special])
    spec = maker(draw, material, folder)
    tables = material.study(target=spec)
    if draw.chance(30):
        tables["target"]["labels"] = "[]"
    if draw.chance(80):  # alone, so that what can be read is also learned
        for table in ("sources.near", "pretraining", "methods.fine-tune", "methods.linear-probe"):
            del tables[table]
    elif draw.chance(30):
        tables["sources.near"]["data"] = tables["target"]["data"]
    if draw.chance(20):
        tables["target"]["transforms"] = draw.one(
            ['["resize:16"]', '["grey"]', '["nothing"]', '["resize:8", "grey", "grey"]']
        )
    tables[""]["seeds"] = "1"
    (folder / "study.toml").write_bytes(as_toml(tables).encode("utf-8", "surrogateescape"))
    return [["run", "study.toml"]]


_CELLS = [
    *(*_NUMBERS, *_TEXTS, "1,5", '"', '""', '"a\nb"', "\x00", "=cmd|' /C calc'!A0", "<script>alert(1)</script>"),
    *("é", "\udcff", "text"),
]


def _csv(draw: Draw, material: Material, folder: Path) -> str:
    lines = [line.split(",") for line in Path(material.path("table.csv")).read_text().splitlines()]
    for _ in range(draw.whole(1, 6)):
        row, column = draw.whole(0, len(lines) - 1), draw.whole(0, 4)
        match draw.whole(0, 6):
            case 0 | 1 | 2:
                lines[row][column % max(len(lines[row]), 1) :][:1] = [draw.one(_CELLS)]
                if lines[row]:
                    lines[row][column % len(lines[row])] = draw.one(_CELLS)
            case 3:
                value = draw.one(_CELLS)
                for line in lines[1:]:
                    if column < len(line):
                        line[column] = value
            case 4:
                lines[row] = lines[row][:column]
            case 5:
                lines[row] = lines[row] + [draw.one(_CELLS)]
            case _:
                lines = lines[: draw.whole(1, len(lines))]
    separator = draw.one([",", ",", ",", ";", "\t", "|"])
    text = draw.one(["\n", "\n", "\r\n", "\r"]).join(separator.join(line) for line in lines)
    raw = text.encode("utf-8", "surrogateescape")
    if draw.chance(15):
        other = [raw.decode("utf-8", "replace").encode("utf-16"), b"\xef\xbb\xbf" + raw, raw[: draw.whole(0, len(raw))]]
        raw = draw.one([*other, b"", b"\n" * 50, b"a" * 300_000, b",".join([b"a"] * 20_000) + b"\n"])
    name = draw.one(["hostile.csv", "hostile.csv", "hostile.tsv", "ho stile?.csv"])
    (folder / name).write_bytes(raw)
    odd = ("drop=a", "kind=regression", "test_share=0.5", "test_share=nan", "split=label", "test=table.csv")
    options = draw.one(
        [
            *("label=label", "label=label", "label=label", "label=a", "label=a&label=b", "label=x", ""),
            *(*(f"label=label&{one}" for one in odd), "label=&x"),
        ]
    )
    return f"csv:{folder / name}?{options}" if options else f"csv:{folder / name}"


_ARRAYS: list[Callable[[np.ndarray], Any]] = [
    lambda a: a[:0],
    lambda a: a[:1],
    lambda a: a.reshape(-1),
    lambda a: a[..., None],
    lambda a: a[None],
    lambda a: np.float64(3),
    lambda a: a.astype(complex),
    lambda a: a.astype("U8"),
    lambda a: a.astype(object),
    lambda a: a.astype("S8"),
    lambda a: a > 0,
    lambda a: np.full_like(a, 0),
    lambda a: np.where(np.arange(a.size).reshape(a.shape) == 5, -1, a),
    lambda a: a.astype(float) * 1e300,
    lambda a: a.astype(float) * np.nan,
    lambda a: np.zeros(a.shape, "M8[s]"),
    lambda a: np.zeros(len(a), [("a", "f4")]),
    lambda a: a.astype(np.float16),
    lambda a: -a,
    lambda a: a.astype(np.longdouble),
    lambda a: np.asfortranarray(a),
    lambda a: np.arange(a.size).reshape(a.shape),
    lambda a: np.abs(a).astype(np.uint64) + np.uint64(2**63),
    lambda a: np.ones((*a.shape, 3, 3, 3)),
    lambda a: np.ones((len(a), 1, 5, 5), np.uint8),
]


def _npz(draw: Draw, material: Material, folder: Path) -> str:
    with np.load(material.path("target.npz")) as stored:
        arrays: dict[str, Any] = {name: stored[name] for name in stored.files}
    for name in sorted({draw.one(sorted(arrays)) for _ in range(draw.whole(1, 2))}):
        arrays[name] = draw.one(_ARRAYS)(arrays[name])
        if draw.chance(15):
            arrays[draw.one(["x", "X_train", "../evil", "y"])] = arrays.pop(name)
    path = folder / "hostile.npz"
    np.savez(path, **arrays)
    raw = path.read_bytes()
    match draw.whole(0, 9):
        case 0:
            path.write_bytes(raw[: draw.whole(0, len(raw))])
        case 1:
            place = draw.whole(0, len(raw) - 1)
            path.write_bytes(_flipped(raw, place))
        case 2:
            _write_bomb(path, draw.one([10**9, 10**12, 2**62]))
        case 3:
            path.write_bytes(draw.bytes(200))
        case _:
            pass
    return f"npz:{path}"


def _flipped(raw: bytes, place: int) -> bytes:
    """The bytes, with all bits of one turned over."""
    return raw[:place] + bytes([raw[place] ^ 255]) + raw[place + 1 :]


def _write_bomb(path: Path, count: int) -> None:
    """An array whose header declares far more than the file holds, or zeros that deflate well."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("x_train", "y_train", "x_test", "y_test"):
            with archive.open(f"{name}.npy", "w") as member:
                member.write(start)
                for _ in range(20):
                    member.write(bytes(2**20))


def _parquet(draw: Draw, material: Material, folder: Path) -> str:
    table = pq.read_table(material.path("table.parquet"))
    n = table.num_rows
    columns: list[pa.Array] = [
        pa.array([b"\xff\xfe%d" % (i % 3) for i in range(n)]),
        pa.array([[i % 3] for i in range(n)]),
        pa.array([None] * n),
        pa.array([{"a": i} for i in range(n)]),
        pa.array([f"class {i % 3}" for i in range(n)]).dictionary_encode(),
        pa.array(np.arange(n) % 3, pa.timestamp("s")),
        pa.array([i % 2 == 0 for i in range(n)]),
        pa.array([None if i == 3 else f"c{i % 3}" for i in range(n)]),
        pa.array([float("nan")] * n),
        pa.array([10**30 + i % 3 for i in range(n)], pa.decimal128(38)),
        pa.array([i % 3 for i in range(n)], pa.uint64()),
        pa.array([2**63 - 1 - i % 3 for i in range(n)]),
        pa.array([i % 3 for i in range(n)], pa.duration("s")),
        pa.array([""] * n),
        pa.array([float(i % 3) for i in range(n)], pa.float16()),
        pa.array([1e308 * (-1) ** i for i in range(n)]),
    ]
    for _ in range(draw.whole(1, 2)):
        place = draw.whole(0, table.num_columns - 1)
        name = draw.one([table.column_names[place]] * 4 + ["", "label", "a"])
        table = table.set_column(place, name, draw.one(columns))
    path = folder / "hostile.parquet"
    pq.write_table(table.slice(0, draw.one([n, n, n, n, 0, 1, 5])), path)
    if draw.chance(20):
        raw = path.read_bytes()
        place = draw.whole(0, len(raw) - 1)
        path.write_bytes(draw.one([raw[:place], _flipped(raw, place)]))
    kinds = [f"label=label&kind={kind}" for kind in ("classification", "regression")]
    return f"parquet:{path}?{draw.one(['label=label', 'label=label', 'label=a', *kinds])}"


_PNG_BOMB = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    + struct.pack(">II", 60_000, 60_000)
    + b"\x08\x00\x00\x00\x00"
    + b"\x00\x00\x00\x00"
)
_EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n(hostile) = quit\n"


def _images(draw: Draw, material: Material, folder: Path) -> str:
    place = folder / "images"
    shutil.copytree(material.path("folder"), place)
    files = sorted(place.rglob("*.png"))
    for _ in range(draw.whole(1, 3)):
        file = draw.one(files)
        image = Image.new(draw.one(["L", "RGB", "RGBA", "P", "CMYK", "I;16", "1", "F"]), (draw.one([1, 8, 8, 9]), 8))
        match draw.whole(0, 12):
            case 0:
                file.write_bytes(draw.bytes())
            case 1:
                file.write_bytes(file.read_bytes()[: draw.whole(0, 60)])
            case 2:
                file.write_bytes(_PNG_BOMB)
            case 3:
                file.with_suffix(draw.one([".eps", ".ps", ".EPS"])).write_bytes(_EPS)
            case 4:
                file.write_bytes(_EPS)  # by content
            case 5:
                image.convert("RGB").save(file.with_suffix(draw.one([".jpg", ".bmp", ".gif", ".webp", ".tiff"])))
            case 6:
                if image.mode not in ("F", "CMYK"):
                    image.save(file)
            case 7:
                file.unlink(missing_ok=True)
                os.mkfifo(file)
            case 8:
                shutil.rmtree(place / "class1", ignore_errors=True)
                (place / "class1").mkdir()
            case 9:
                (place / "class0" / "loop.png").unlink(missing_ok=True)
                (place / "class0" / "loop.png").symlink_to(place)
            case 10:
                (place / "class0" / draw.one([".hidden.png", "Thumbs.db", "notes.txt", "x.svg", "x.npy"])).write_bytes(
                    draw.bytes()
                )
            case 11:
                if (place / "class2").exists():
                    (place / "class2").rename(place / os.fsdecode(draw.one([b"\xff\xfe", b"=cmd", b"<b>", b" "])))
            case _:
                shutil.rmtree(place / "class2", ignore_errors=True)
                (place / "train").mkdir(exist_ok=True)
        files = sorted(path for path in place.rglob("*.png") if path.is_file()) or [place / "x.png"]
    return f"folder:{place}{draw.one(['', '', '?resize=8', '?resize=100000', '?resize=0', '?test_share=0.9', '?x=1'])}"


def _special(draw: Draw, material: Material, folder: Path) -> str:
    os.mkfifo(folder / "fifo")
    (folder / "directory").mkdir()
    (folder / "link").symlink_to(folder / "link")
    own = [str(folder / name) for name in ("fifo", "directory", "link")]
    place = draw.one(["/dev/zero", "/dev/null", "/dev/random", *own, "/proc/self/mem", "/proc/kmsg"])
    return f"{draw.one(['csv', 'parquet', 'npz', 'folder'])}:{place}{draw.one(['?label=a', ''])}"


# ---- weights --------------------------------------------------------------------------------------------------------


def weights(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """Files of weights: damaged, of other dtypes and layouts, with odd names, or with something else in them."""
    stored: dict[str, Any] = load_file(material.path("network.safetensors"))
    path = folder / draw.one(["net.safetensors", "net.pt", "net.pt"])
    if path.suffix == ".pt":
        _write_pt(draw, stored, path)
    else:
        _write_safetensors(draw, stored, path)
    target = f"npz:{material.path('target.npz')}"
    network = [
        "--network",
        draw.one(["mlp"] * 5 + ["lenet", "linear"]),
        *draw.one([["--set", "network.widths=6"]] * 4 + [[]]),
    ]
    tables = material.study()
    tables["sources.near"] = {"network": json.dumps(path.name)}
    tables.pop("pretraining")
    tables[""]["seeds"] = "1"
    (folder / "study.toml").write_text(as_toml(tables))
    looked = ["--data", target, "--diagnostics", "weights", *network]
    commands = [
        ["rank", target, "--from", str(path), "--labels", "9", *network],
        ["predict", str(path), target, "--out", "predictions.csv"],
        ["diagnose", str(path), *looked],
        ["diagnose", material.path("network.safetensors"), "--against", str(path), *looked],
        *[["run", "study.toml"]] * 2,
    ]
    return [draw.one(commands)]


def _write_safetensors(draw: Draw, stored: dict[str, Any], path: Path) -> None:
    name = draw.one(sorted(stored))
    match draw.whole(0, 7):
        case 0:
            stored = {name: stored[name]}
        case 1:
            stored.pop(name)
        case 2:
            stored[name] = stored[name].astype(
                draw.one([np.float16, np.float64, np.int8, np.int64, np.bool_, np.uint8])
            )
        case 3:
            stored[name] = stored[name] * draw.one(
                [np.float32(np.nan), np.float32(np.inf), np.float32(0), np.float32(1e30)]
            )
        case 4:
            stored[draw.one(["", "../x", "head.weight", "x" * 5000, "é"])] = stored.pop(name)
        case 5:
            stored = {key: value * np.float32(0) for key, value in stored.items()}
        case 6:
            stored[name] = draw.one(
                [stored[name][:0], stored[name].reshape(-1), stored[name][None], np.float32(1).reshape(())]
            )
        case _:
            pass
    save_file({key: np.ascontiguousarray(value) for key, value in stored.items()}, path)
    if draw.chance(40):
        _damage(draw, path)


def _damage(draw: Draw, path: Path) -> None:
    raw = path.read_bytes()
    place = draw.whole(0, max(len(raw) - 1, 0))
    changed = [raw[:place], _flipped(raw, place), struct.pack("<Q", 2**60) + raw[8:], b"", raw + b"x", draw.bytes(100)]
    path.write_bytes(draw.one([*changed, struct.pack("<Q", 2) + b"{}", struct.pack("<Q", 4) + b"null"]))


def _write_pt(draw: Draw, stored: dict[str, Any], path: Path) -> None:
    tensors: dict[Any, Any] = {name: torch.from_numpy(value) for name, value in stored.items()}
    name = draw.one(sorted(stored))
    one = tensors[name]
    things: list[Any] = [
        {**tensors, 3: one},
        dict(enumerate(tensors.values())),
        {**tensors, name: one.to_sparse()},
        {**tensors, name: one.to("meta")},
        {**tensors, name: torch.quantize_per_tensor(one, 0.1, 0, torch.qint8)},
        {**tensors, name: one.to(torch.complex64)},
        {**tensors, name: one.to(torch.bfloat16)},
        {**tensors, name: one * float("nan")},
        {**tensors, name: one.bool()},
        {**tensors, name: torch.nn.Parameter(one)},
        {name: one},
        {},
        [one],
        one,
        3,
        "text",
        None,
        {"state_dict": tensors},
        {"state_dict": {"state_dict": tensors}},
        {"state_dict": []},
        {"model": tensors, "epoch": 3},
        {f"module.{key}": value for key, value in tensors.items()},
        {**tensors, name: one.expand(4, *one.shape)},
        {**tensors, name: one.t() if one.ndim == 2 else one},
        {**tensors, name: [1.0]},
        {**tensors, ("a", 1): one},
        {**tensors, None: one},
        {**tensors, name: one.to(torch.float8_e4m3fn)},
        {key: value * 0 for key, value in tensors.items()},
        {**tensors, name: one.int()},
        {**tensors, b"x": one},
        {"module": tensors},
    ]
    torch.save(things[draw.whole(0, len(things) - 1)], path, _use_new_zipfile_serialization=draw.chance(80))
    if draw.chance(20):
        _damage(draw, path)


# ---- stores ---------------------------------------------------------------------------------------------------------

_SQL_VALUES = [
    *("NULL", "''", "'x'", "'null'", "'[]'", "'{}'", "'[[]]'", "'{\"a\": null}'", "'\"text\"'", "'²'", "'../../x'"),
    *("-1", "0", "1", "3", "9223372036854775807", "1e300", "-1e400", "1e400", "x'00ff'", "x''"),
    *("'nonsense'", "'running'", "'planned'", "'done'", "'failed'", "'blocked'", "'a' || char(0) || 'b'"),
    "replace(hex(zeroblob(2000)), '0', '[')",
]


def store(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """A finished study's store with wrong values, cycles, missing rows or flipped bytes."""
    path = folder / "study.sqlite"
    shutil.copy(material.path("study.sqlite"), path)
    (folder / "study.toml").write_text(as_toml(material.study(name="study", store="study.sqlite")))
    if draw.chance(75):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA writable_schema = ON")
            for _ in range(draw.whole(1, 2)):
                _spoil_store(draw, connection)
    else:
        raw = bytearray(path.read_bytes())
        for _ in range(draw.one([1, 3, 40])):
            changed = draw.whole(0, len(raw) - 1) if draw.chance(80) else draw.whole(0, 100)
            raw[changed] ^= draw.whole(1, 255)
        path.write_bytes(bytes(raw[: draw.one([len(raw)] * 4 + [0, 50, len(raw) // 2])]))
    place = draw.one(["study.sqlite", "study.toml"])
    command = draw.one(_OF_STUDY) if draw.chance(80) else draw.one(["run", "run --retry-failed"])
    return [[*command.split(), "study.toml" if command.startswith("run") else place]]


def _spoil_store(draw: Draw, connection: sqlite3.Connection) -> None:
    named = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    if not named:
        return
    # a NOT NULL or UNIQUE of our own schema does not hold in a file that somebody else wrote
    if draw.chance(50):
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'")
        version = connection.execute("PRAGMA schema_version").fetchone()[0]
        connection.execute(f"PRAGMA schema_version = {version + 1}")
    table = draw.one([name for name, _ in named])
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    try:
        match draw.whole(0, 9):
            case 0:
                connection.execute(f"DELETE FROM {table}")
            case 1:
                connection.execute(f"DROP TABLE {table}")
            case 2:
                first, second = [row[0] for row in connection.execute("SELECT id FROM cells ORDER BY id LIMIT 2")]
                connection.execute("INSERT OR IGNORE INTO needs VALUES (?, ?), (?, ?)", (first, second, second, first))
                connection.execute("UPDATE cells SET state = 'planned'")
                connection.execute("DELETE FROM outcomes")
            case 3:
                connection.execute(
                    "UPDATE cells SET state = 'running', owner = ?, heartbeat = ?",
                    (draw.one([None, "nonsense", "", "{}"]), draw.one([None, 0.0, 1e300, "x"])),
                )
            case _:
                limit = draw.one(["", f" WHERE {columns[0]} = (SELECT min({columns[0]}) FROM {table})"])
                connection.execute(f"UPDATE {table} SET {draw.one(columns)} = {draw.one(_SQL_VALUES)}{limit}")
    except sqlite3.DatabaseError:
        return  # this cannot be in such a file


# ---- scaling tables -------------------------------------------------------------------------------------------------


def scaling_table(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """Tables of errors: extreme, negative or missing numbers, text, few rows, and options that do not fit."""
    n_rows = draw.one([0, 1, 2, 3, 5, 8, 8, 8, 12])
    scale = draw.one([1.0] * 6 + [1e-300, 5e-324, 1e300, 1e150, -1.0])
    factor = draw.one([1.0] * 6 + [1e-300, 1e300, 0.0, -1.0, 100.0])
    rows = [[repr(100.0 * 2**i * scale), repr((0.05 + 2 * (100.0 * 2**i) ** -0.4) * factor)] for i in range(n_rows)]
    for _ in range(draw.whole(0, 3)):
        if rows:
            cell = draw.one([*_CELLS, "0", "-1", "1e-320", "1e300", "1"]) if draw.chance(80) else repr(draw.number())
            draw.one(rows)[draw.whole(0, 1)] = cell
    header = draw.one([["n", "error"]] * 5 + [["n", "n"], ["error", "n"], ["size", "loss"], ["n"]])
    text = "\n".join([",".join(header), *(",".join(row) for row in rows)]) + "\n"
    (folder / "table.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    command = ["scaling", "table.csv"]
    for _ in range(draw.whole(0, 2)):
        option = draw.one(["target_score", "largest_size", "budget", "cost_pretrain", "cost_label", "cost_run"])
        command += [
            "--set",
            f"{option}=" + draw.one(["0", "-1", "nan", "inf", "1e300", "5e-324", "0.06", "0.1", "1e-300", "1e6", "x"]),
        ]
    if draw.chance(10):
        command += draw.one(
            [["--by", "n"], ["--repeats"], *(["--columns", one] for one in ("stderr=error", "labels=n", "score=n"))]
        )
    return [command]


# ---- URLs of stores -------------------------------------------------------------------------------------------------


def url(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """Where a store should be: URLs of databases that are not there, of drivers that are not, or no URLs."""
    (folder / "directory").mkdir()
    (folder / "text.sqlite").write_text("no database")
    known = "postgresql postgresql+psycopg postgresql+nothing sqlite sqlite+pysqlite sqlite+aiosqlite mysql oracle"
    scheme = draw.one([*known.split(), "http", "file", "", "sql ite", "²"])
    host = draw.one(["127.0.0.1", "127.0.0.1", "127.0.0.1", "[::1", "", "h" * 300, "a b"])
    port = draw.one([":1", ":1", ":xx", ":99999", ":-1", ":", "", ":" + "9" * 5000])
    user = draw.one([f"user:{SECRET}@", f"user:{SECRET}@", f":{SECRET}@", "", "@", f"user:{SECRET}%zz@"])
    rest = draw.one(["/db", "", "/", "/../..", "/db?connect_timeout=1", "/db?x", "/db?x=%ff", "/\x00"])
    odd = [
        *("", " ", ":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:////dev/null"),
        *(
            "sqlite:////dev/zero",
            "/dev/null",
            "/dev/zero",
            "directory",
            "text.sqlite",
            ".",
            "file:x?mode=memory",
            "://",
        ),
        *("sqlite:///a\x00b", "\udcff.sqlite", "x" * 5000),
        *("sqlite+pysqlite://", "sqlite+pysqlite:///x.sqlite", "sqlite:///x?mode=ro"),
    ]
    address = f"{scheme}://{user}{host}{port}{rest}" if draw.chance(65) else draw.one(odd)
    (folder / "study.toml").write_bytes(as_toml(material.study(store=address.replace("\udcff", "?"))).encode())
    plain = address.replace("\x00", "%00")  # no argument of a command can hold it
    (folder / "valid.toml").write_text(as_toml(material.study()))
    commands = [
        *([command, "study.toml"] for command in ("run", "status", "report")),
        *([command, plain] for command in ("status", "report", "rank", "scaling")),
        ["run", "valid.toml", "--store", plain],
        ["papers", "draw", "liu2019", "landscapes", "--study", plain],
        ["export", plain, "--out", "net"],
        ["papers", "draw", *_paper_figure(draw), "--store", plain, "--set", "nothing=1"],
    ]
    return [draw.one(commands)]


# ---- files that name code -------------------------------------------------------------------------------------------

RAN = "ran"
"""A file that is there once a program was run which nobody asked for."""

_PROGRAM = f"open({RAN!r}, 'w')\n\n\ndef run(*_, **__):\n    open({RAN!r}, 'w')\n"


def _code(draw: Draw, folder: Path) -> str:
    """A reference to a program: of Python, in the working directory or by its whole path."""
    (folder / "planted.py").write_text(_PROGRAM)
    return draw.one(
        [
            *("subprocess:getoutput", "os:system", "builtins:exec"),
            *("planted.py:run", "planted:run", "./planted.py:run"),
            *(f"{folder}/planted.py:run", "half-images:planted.py:run", "transferscope.files:written_whole"),
        ]
    )


def _odd(draw: Draw, folder: Path) -> Any:
    """A value of JSON, of any kind."""
    return draw.one(
        [
            *(None, True, 0, -1, 1, 3, 10**12, 2**70, 0.5, float("nan"), float("inf"), -0.0, 1e300, "", "x", "1", "\0"),
            *([], {}, [[]], [1, 1], ["a", "a"], [None], {"a": None}, "a" * 3000, draw.text(), draw.number()),
            *(_code(draw, folder), {"name": _code(draw, folder)}, _deep(draw.one([50, 500]))),
            {"name": "subprocess:getoutput", "options": {"cmd": f"touch {folder}/{RAN}"}},
        ]
    )


def _deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _spoiled(draw: Draw, plain: Any, folder: Path) -> Any:
    """JSON values of which one, somewhere within, is another now, gone, or beside a key that nothing knows."""
    if isinstance(plain, list) and plain and draw.chance(80):
        place = draw.whole(0, len(plain) - 1)
        changed = [_spoiled(draw, one, folder) if i == place else one for i, one in enumerate(plain)]
        return draw.one([changed] * 4 + [changed[:-1], changed * 2])
    if isinstance(plain, dict) and plain and draw.chance(90):
        key = draw.one(sorted(plain))
        if draw.chance(10):
            return {name: value for name, value in plain.items() if name != key}
        if draw.chance(10):
            return {**plain, draw.one([key.upper(), key[:-1], draw.text()]): plain[key]}
        return {**plain, key: _spoiled(draw, plain[key], folder)}
    return _odd(draw, folder)


def card(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """Exported networks whose card or scale was edited by hand, or holds what no card has, or names a program."""
    with safe_open(material.path("network.safetensors"), framework="np") as opened:
        notes = dict(opened.metadata())
    path = folder / "model.safetensors"
    for _ in range(draw.one([1, 1, 1, 2, 3])):
        note = draw.one(["transferscope.card"] * 5 + ["transferscope.pixel_scale"])
        try:
            notes[note] = json.dumps(_spoiled(draw, json.loads(notes[note]), folder))
        except (ValueError, RecursionError):
            break
    if draw.chance(5):
        notes["transferscope.card"] = draw.one(["[" * 100_000, '{"a":' * 100_000, "", "null", "{}", "[]"])
    save_file(load_file(material.path("network.safetensors")), path, metadata=notes)
    if draw.chance(10):
        _damage(draw, path)
    target = f"npz:{material.path('target.npz')}"
    table = f"csv:{material.path('table.csv')}?label=label&encoding={path}"
    commands: list[Command] = [
        *[["predict", str(draw.one([path, folder])), target, "--out", "predictions.csv"]] * 6,
        ["show", table],
        ["rank", target, "--from", str(path), "--labels", "9", "--network", "mlp", "--set", "network.widths=6"],
        ["show", "mlp", "--set", "widths=6", "--shape", "6", "--weights", str(path)],
    ]
    return [draw.one(commands)]


# ---- results of others, and commands as trainers ---------------------------------------------------------------------

_HEADINGS = [
    *("arm", "method", "model", "source", "seed", "fold", "split", "labels", "n_train", "accuracy", "loss", "f1"),
    *("value", "metric", "seconds", "state", "predictions", "step", "epoch", "", " ", "accuracy ", "Arm", "é", "mean"),
]
_RUNS_OPTIONS = [
    *([], [], *[["--without", one] for one in ("plain", "plain", "none", "")], ["--next", "3"]),
    *(["--metric", "loss", "--better", "lower"], ["--metric", "x"], ["--set", "unit=share"]),
    *(
        ["--wide", "arms", "--metric", "accuracy"],
        ["--wide", "labels", "--metric", "accuracy"],
        ["--set", "decision.margin=0"],
    ),
    *(["--columns", "arm=model"], ["--columns", "arm=arm+seed"], ["--columns", "seed="], ["--where", "arm=tuned"]),
    *(["--predictions", "predicted"], ["--next", "0"], ["--next", "2"], ["--set", "unit=%"]),
]


def results_table(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """Tables of runs with odd headings, scores, seeds and doubled or missing rows, and folders that tools leave."""
    head = ["arm", "seed", "accuracy"]
    rows = [
        [arm, str(seed), str(base + draw.whole(-9, 9) / 100)]
        for arm, base in (("plain", 0.7), ("tuned", 0.8), ("frozen", 0.75))
        for seed in range(draw.one([1, 2, 3, 3, 3, 5]))
    ]
    for name in draw.one(["", "", "source", "labels", "seconds", "state", "predictions", "f1 loss"]).split():
        head.append(name)
        for row in rows:
            row.append(draw.one(["", "1", "20", "0.5", "near", "failed", "finished", "x.csv", "running"]))
    for _ in range(draw.one([0, 0, 1, 1, 2])):
        match draw.whole(0, 5):
            case 0:
                head[draw.whole(0, len(head) - 1)] = draw.one(_HEADINGS)
            case 1:
                rows.append([*draw.one(rows)])
            case 2:
                rows.append([draw.one(["mean", "total", "all", "plain"]), *["0.7"] * (len(head) - 1)])
            case 3:
                rows = [[*reversed(row)] for row in rows]
            case _:
                row = draw.one(rows)
                row[draw.whole(0, len(row) - 1)] = draw.one([*_CELLS, "80", "-1"]) if draw.chance(80) else draw.text()
    text = "\n".join([",".join(head), *(",".join(row) for row in rows)])
    (folder / "table.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    place = draw.one(["table.csv"] * 4 + ["runs", "table.json"])
    _runs_of_tools(draw, folder / "runs")
    (folder / "table.json").write_text(
        json.dumps(_spoiled(draw, [dict(zip(head, row, strict=False)) for row in rows], folder))
    )
    for arm in ("plain", "tuned", "frozen"):
        (folder / "predicted" / arm).mkdir(parents=True)
        for seed in range(3):
            text = draw.one(
                ["prediction,label\n" + "a,a\n" * 7 + "b,a\n" * 3, "score\n0.7\n", "", "score\nnan\n", "x\n1\n"]
            )
            (folder / "predicted" / arm / f"{seed}.csv").write_text(text)
    options = ["--without", "plain"] if draw.chance(80) else []
    options += [one for _ in range(draw.one([0, 0, 1, 2])) for one in draw.one(_RUNS_OPTIONS)]
    return [["report", place, *options]]


def _runs_of_tools(draw: Draw, place: Path) -> None:
    """A folder of a Trainer, of MLflow or of TensorBoard, with something odd in one file."""
    odd = [*_CELLS, "{}", "[1]", '{"eval_accuracy": 1e999}', "[" * 3000]
    odd += ['{"log_history": 3}', '{"log_history": [{"a": {}}]}']
    kind = draw.whole(0, 2)
    for arm in ("plain", "tuned"):
        for seed in range(2):
            score = str(0.7 + draw.whole(0, 9) / 100)
            if kind == 0:
                name = draw.one([f"{arm}/{seed}", f"{arm}-seed{seed}", f"{arm}/seed-{seed}"])
                files = {f"{name}/all_results.json": json.dumps({"eval_accuracy": float(score), "train_runtime": 3.0})}
            elif kind == 1:
                run = f"0/{arm}{seed}"
                files = {
                    f"{run}/meta.yaml": f"run_name: {arm}\nstatus: 3\nstart_time: 1000\nend_time: 2000\n",
                    f"{run}/params/arm": arm,
                    f"{run}/params/seed": str(seed),
                    f"{run}/metrics/accuracy": f"1 {score} 0\n",
                }
            else:
                files = {f"run-{arm}_{seed}-tag-accuracy.csv": f"Wall time,Step,Value\n1.0,1,{score}\n"}
            for name, text in files.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                content = draw.one(odd) if draw.chance(15) else text
                (place / name).write_bytes(content.encode("utf-8", "surrogateescape"))


_COMMAND = """'case {seed} in 1) s=3;; *) s=5;; esac; echo "{{\\"a\\": 0.${{s}}{more}}}" > {out}/r.json'"""
_COMMANDS_OF_RUN = [
    *('"true"', '"false"', '"echo {out}"', '"sh -c {more} {seed} {out}"', '"echo {"', '"echo {0} {seed} {out}"'),
    *(
        "'printf \"\\\\377\" {seed} > {out}/r.json'",
        '"head -c 5000000 /dev/zero; echo {seed} {out}"',
        '"no-program {seed} {out}"',
    ),
    *("'echo null {seed} > {out}/r.json'", "'mkfifo {out}/r.json; echo {seed}'", "'kill -9 $$; echo {seed} {out}'"),
    *("'ln -s /dev/zero {out}/r.json {seed}'", "'echo {{}} {seed} > {out}/r.json'", "'rmdir {out}; echo {seed}'"),
]


def command_study(draw: Draw, material: Material, folder: Path) -> list[Command]:
    """Study files of commands with some values wrong, bytes changed, or commands that leave odd results."""
    tables: Tables = {
        "": {"name": '"small"', "seeds": "2", "store": '"small.sqlite"'},
        "run": {"command": _COMMAND, "score": '"r.json:a"', "shell": "true"},
        "arms.tuned": {"more": "[7, 8]", "source": '"near"'},
        "arms.plain": {"more": "1", "without_source": "true"},
        "engine": {"workers": "0", "timeout": "0.1"},
    }
    names = {field.name: field for field in dataclasses.fields(RunSettings)}
    for _ in range(draw.one([0, 0, 1, 1, 1, 2])):
        match draw.whole(0, 5):
            case 0:
                tables["run"]["command"] = draw.one(_COMMANDS_OF_RUN)
            case 1:
                tables["run"][draw.one([*names])] = draw.one([*_LITERALS, *_COMMANDS_OF_RUN])
            case 2:
                arm = draw.one(["arms.tuned", "arms.plain", f"arms.{json.dumps(draw.text())}", "arms"])
                tables.setdefault(arm, {})[draw.one(["more", "source", "without_source", "command", "out", "x"])] = (
                    draw.one(_LITERALS)
                )
            case 3:
                tables["race"] = {draw.one(["minutes", "runs", "budget"]): draw.one(_LITERALS)}
                tables["decision"] = {draw.one(["worth", "margin", "budget"]): draw.one(_LITERALS)}
            case 4:
                tables["engine"][draw.one(["timeout", "retries", "keep", "device"])] = draw.one(_LITERALS)
            case _:
                other = material.study()
                tables |= {
                    name: other[name] for name in draw.one([("target",), ("methods.scratch",), ("network", "target")])
                }
    run = as_toml({"run": tables.pop("run")})  # whose command must not become another by chance
    text = _spoil_text(draw, as_toml(tables)) if draw.chance(15) else as_toml(tables)
    text += run
    (folder / "study.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    then = draw.one(["status study.toml", "report study.toml", "rank small.sqlite", "run study.toml --retry-failed"])
    return [["run", "study.toml"], then.split()]


FAMILIES: dict[str, Family] = {
    "study files": study_file,
    "command lines": command_line,
    "data files": data_file,
    "weights": weights,
    "stores": store,
    "scaling tables": scaling_table,
    "results tables": results_table,
    "studies of commands": command_study,
    "URLs": url,
    "cards": card,
}
