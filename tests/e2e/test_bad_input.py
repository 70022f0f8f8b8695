"""What a user gets wrong is answered with one sentence and exit code 2, and nothing stored is lost."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save_file

from transferscope.cli.main import main
from transferscope.store import Store

STUDY = """
name = "small"
seeds = 1
store = "{folder}/small.sqlite"
[target]
data = "{target}"
labels = [{size}]
[sources.source]
{source}
[network]
name = "{network}"
[pretraining]
steps = 2
[training]
steps = {steps}
[methods.scratch]
[methods.{method}]
{setting}
[engine]
workers = 0
"""


@pytest.fixture
def study(tmp_path: Path) -> "StudyFile":
    return StudyFile(tmp_path)


class StudyFile:
    """A study of two small npz files, with one thing wrong at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, seed in (("source", 0), ("target", 1)):
            self.write(f"{name}.npz", seed=seed)

    def write(self, name: str, *, seed: int, spoil: float | None = None, single: bool = False) -> Path:
        generator = np.random.default_rng(seed)
        x, y = generator.normal(size=(40, 4)), np.arange(40) % 2
        if spoil is not None:
            x[3, 1] = spoil
        if single:
            y = np.array([0] * 39 + [1])
        np.savez(self.folder / name, x_train=x[:30], y_train=y[:30], x_test=x[30:] + 9, y_test=y[30:])
        return self.folder / name

    def text(self, **changes: object) -> str:
        settings = {
            "folder": self.folder,
            "target": f"npz:{self.folder}/target.npz",
            "source": f'data = "npz:{self.folder}/source.npz"',
            "size": 10,
            "network": "mlp",
            "steps": 2,
            "method": "fine-tune",
            "setting": "",
        }
        return STUDY.format(**{**settings, **changes})

    def path(self, **changes: object) -> Path:
        path = self.folder / "study.toml"
        path.write_text(self.text(**changes))
        return path


def call(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["transferscope", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    code = stopped.value.code
    return code if isinstance(code, int) else 0


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "an unknown method": ({"method": "finetune"}, "unknown method 'finetune': did you mean 'fine-tune'"),
    "an unknown network": ({"network": "lenett"}, "unknown network 'lenett': did you mean 'lenet'"),
    "an unknown data set": ({"target": "mnits"}, "unknown data set 'mnits': did you mean 'mnist'"),
    "an unknown setting": ({"setting": "lr_scal = 0.1"}, "unknown key 'lr_scal': did you mean 'lr_scale'"),
    "a wrong type": ({"steps": '"many"'}, "[training] steps"),
    "a value out of range": ({"steps": 0}, "steps = 0 is out of range"),
    "a missing file": ({"target": "npz:absent.npz"}, "absent.npz"),
    "more labels than there are": ({"size": 31}, "asks for 31 examples"),
    "images for a network of images": ({"network": "lenet"}, "lenet"),
    "a checkpoint that is not there": ({"source": 'network = "absent.safetensors"'}, "absent.safetensors"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_study_file(
    wrong: str, study: StudyFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, expected = WRONG[wrong]
    code = call("run", study.path(**changes), monkeypatch=monkeypatch)
    said = capsys.readouterr().err
    assert code == 2
    assert expected in said
    assert said.startswith("transferscope: ")
    assert "Traceback" not in said


def test_a_wrong_option(study: StudyFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", study.path(), "--device", "gpu", monkeypatch=monkeypatch) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        'transferscope: the command line: device = "gpu" is unknown; expected "auto", "cpu", "mps", "cuda" or one GPU'
    )


def test_features_that_are_not_numbers(
    study: StudyFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spoilt = study.write("spoilt.npz", seed=2, spoil=np.nan)
    assert call("run", study.path(target=f"npz:{spoilt}"), monkeypatch=monkeypatch) == 2
    assert "NaN or infinity in 1 of 30 examples (first: 3)" in capsys.readouterr().err


def test_a_class_with_one_example_cannot_be_split(
    study: StudyFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = tmp_path / "one.csv"
    table.write_text("a,b,label\n" + "".join(f"{i},{i * i % 7},{'rare' if i == 3 else 'usual'}\n" for i in range(20)))
    assert call("run", study.path(target=f"csv:{table}?label=label"), monkeypatch=monkeypatch) == 2
    said = capsys.readouterr().err
    assert "rare" in said
    assert "needs two of each class" in said


def test_a_broken_image_is_named(
    study: StudyFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, side in (("a", 8), ("b", 9)):
        for i in range(4):
            path = tmp_path / "images" / name / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("L", (side, side), 20 * i).save(path)
    (tmp_path / "images/b/2.png").write_bytes(b"no image")
    assert call("run", study.path(target=f"folder:{tmp_path}/images"), monkeypatch=monkeypatch) == 2
    assert "images/b/2.png cannot be read as an image" in capsys.readouterr().err


def test_a_checkpoint_that_does_not_fit(
    study: StudyFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    save_file({"features.other.weight": np.zeros((2, 2), np.float32)}, tmp_path / "other.safetensors")
    wrong = study.path(source=f'network = "{tmp_path}/other.safetensors"')
    assert call("run", wrong, monkeypatch=monkeypatch) == 2
    assert "other.safetensors" in capsys.readouterr().err


def test_a_run_then_a_mistake_loses_nothing(study: StudyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    from transferscope.cli.main import app

    app(["run", str(study.path())], standalone_mode=False)
    with Store.open(study.folder / "small.sqlite", create=False) as store:
        before = store.counts("small")
    assert call("run", study.path(method="finetune"), monkeypatch=monkeypatch) == 2
    with Store.open(study.folder / "small.sqlite", create=False) as store:
        assert store.counts("small") == before
    assert before.done == 3


def test_a_hostile_class_name_is_shown_and_not_run(study: StudyFile, tmp_path: Path) -> None:
    from transferscope.cli.main import app

    hostile = "<script>alert(1)</script>"
    table = tmp_path / "hostile.csv"
    rows = (f"{i},{i * i % 7},{i % 3},{i % 5},{hostile if i % 2 else 'tame'}\n" for i in range(40))
    table.write_text("a,b,c,d,label\n" + "".join(rows))
    path = study.path(target=f"csv:{table}?label=label")
    app(["run", str(path)], standalone_mode=False)
    app(["report", str(path), "--out", str(tmp_path / "page.html")], standalone_mode=False)
    page = (tmp_path / "page.html").read_text()
    assert hostile not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
