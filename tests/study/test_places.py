import os
import re
from pathlib import Path

import pytest

from transferscope.errors import SettingsError
from transferscope.study.places import StudyAddress, find_study, parse_toml, read_toml


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "s.toml"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "store"),
    [
        (b'name = "a"\nnonsense = 3', "runs/a.sqlite"),
        (b'\xef\xbb\xbfname = "a"', "runs/a.sqlite"),
        (b'name = "a"\nstore = "b.sqlite"', "b.sqlite"),
        (b'name = "a"\nstore = "../b.sqlite"', "../b.sqlite"),
        (b'name = "a"\nstore = "sqlite:///b.sqlite"', "b.sqlite"),
    ],
)
def test_the_store_of_a_study_is_found_without_reading_the_rest(tmp_path: Path, content: bytes, store: str) -> None:
    assert find_study(written(tmp_path, content)) == StudyAddress("a", str(tmp_path / store))


@pytest.mark.parametrize("store", ["/b.sqlite", "postgresql+psycopg://user@host/b", "sqlite:///:memory:"])
def test_an_absolute_store_stays_as_it_is(tmp_path: Path, store: str) -> None:
    assert find_study(written(tmp_path, f'name = "a"\nstore = "{store}"'.encode())).store == store


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name = ", "{} is not valid TOML: Invalid value (at end of document)"),
        (b"x = " + b"9" * 5000, "{} has a number of thousands of digits; expected at most 64 bits"),
        (
            b"[a]\nx = " + b"[" * 3000 + b"]" * 3000,
            "{} is nested too deeply; expected tables and lists as in a study",
        ),
        (
            b"x = " + b"{a=" * 3000 + b"1" + b"}" * 3000,
            "{} is nested too deeply; expected tables and lists as in a study",
        ),
        (b"name = 'x'\n" * 1_000_000, "{} has 11,000,000 bytes, too many for a study file; give the path of one"),
        (b"\xff\xfe", "{} is not UTF-8 text; expected a study file in TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(SettingsError) as error:
        read_toml(path)
    assert str(error.value) == message.format(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"seeds = 3", 's.toml has no name; begin it with name = "..."'),
        (b'name = "x"\nstore = "a\\u0000b"', "store contains a null character"),
    ],
)
def test_a_study_without_a_name_or_with_a_nul_in_its_store_is_refused(
    tmp_path: Path, content: bytes, said: str
) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)):
        find_study(written(tmp_path, content))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "study.toml")
    for path in (tmp_path / "study.toml", Path("/dev/zero")):
        with pytest.raises(SettingsError, match="is a device or pipe; expected a study file in TOML"):
            read_toml(path)


@pytest.mark.parametrize("text", ["name = 1979-05-27", "[target]\ndata = 07:32:00", "labels = [1979-05-27T07:32:00Z]"])
def test_a_date_is_no_text(text: str) -> None:
    with pytest.raises(SettingsError, match=r"s\.toml: (name|data|labels) = .* is a TOML date"):
        parse_toml(text, place="s.toml")
    assert parse_toml('name = "1979-05-27"', place="s.toml") == {"name": "1979-05-27"}
