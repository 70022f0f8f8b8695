"""No way in for data opens a device, a pipe, a socket or a folder."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from transferscope.data.load import load
from transferscope.errors import CorruptDataError, DataError
from transferscope.files import json_object, network_file_system, require_regular, written_whole


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """What is no regular file, by what it is called."""
    pipe, folder, plug = tmp_path / "pipe", tmp_path / "folder", tmp_path / "socket"
    os.mkfifo(pipe)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(plug))
        yield {"a pipe": pipe, "a folder": folder, "a socket": plug, "a device": Path("/dev/zero")}


KINDS = ["a pipe", "a folder", "a socket", "a device"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("npz:{}", "an .npz file"),
        ("csv:{}?label=y", "a csv file"),
        ("csv:{table}?label=y&test={}", "a csv file"),
        ("parquet:{}?label=y", "a parquet file"),
    ],
)
def test_data_are_read_from_regular_files_only(
    strange: dict[str, Path], kind: str, name: str, expected: str, tmp_path: Path
) -> None:
    table = tmp_path / "own.csv"
    table.write_text("x,y\n1,a\n2,b\n")
    with pytest.raises(DataError) as caught:
        load(name.format(strange[kind], table=table))
    assert str(caught.value) == f"{strange[kind]} is {kind}; expected {expected}"


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a device"])
def test_so_are_images_and_fonts(strange: dict[str, Path], kind: str, tmp_path: Path) -> None:
    for folder, file, name, expected in (
        ("photos/cat", "0.png", "folder:{}", "an image"),
        ("fonts", "0.ttf", "glyphs?fonts={}&n_train=2&n_test=2", "a .ttf or .otf file"),
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / file).symlink_to(strange[kind])
        with pytest.raises(DataError, match=rf"{file} is {kind}; expected {expected}$"):
            load(name.format(tmp_path / folder.split("/")[0]))


@pytest.mark.parametrize("path", ["a" * 5000, "a/" * 3000, "nul\0"])
def test_a_path_that_no_machine_has_is_refused(path: str) -> None:
    with pytest.raises(DataError, match=r"(is invalid|there is no|cannot be opened)"):
        load(f"npz:{path}")
    with pytest.raises(DataError, match=r"cannot be opened \(.+\); expected a file$"):
        require_regular(Path(path), "a file")


def test_a_file_and_an_absent_one_pass(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link", "absent"):
        require_regular(tmp_path / name, "a file")


@pytest.mark.skipif(not Path("/proc/uptime").exists(), reason="no /proc on this system")
@pytest.mark.parametrize("path", ["/proc/uptime", "/proc/kmsg", "/proc/self/mem"])
def test_files_of_the_operating_system_are_refused_before_they_are_opened(path: str) -> None:
    with pytest.raises(DataError, match=f"^{path} is a file of the operating system"):
        require_regular(Path(path), "a csv file")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_a_file_has_the_permissions_that_the_umask_leaves(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        with written_whole(tmp_path / "a.safetensors") as unfinished:
            save_file({"x": np.zeros(2, np.float32)}, unfinished)  # writes a file for its owner alone
        plain = tmp_path / "plain"
        plain.touch()
    finally:
        os.umask(before)
    assert (tmp_path / "a.safetensors").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/runs/a.sqlite", "nfs4"),
        ("/home/me/local/a.sqlite", None),
        ("/home", "nfs4"),
        ("/homes/a.sqlite", None),
        ("/data set/a.sqlite", "fuse.sshfs"),
        ("/scratch/a.sqlite", None),  # mounted over by a disk of this machine
    ],
)
def test_a_network_file_system_is_known_by_the_mount_that_a_path_is_below(
    path: str, kind: str | None, tmp_path: Path
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda1 / ext4 rw 0 0\nserver:/home /home nfs4 rw,vers=4.2 0 0\n/dev/sdb1 /home/me/local ext4 rw 0 0\n"
        "me@host:/ /data\\040set fuse.sshfs rw 0 0\nlfs /scratch lustre rw 0 0\n/dev/sdc1 /scratch xfs rw 0 0\nodd\n"
    )
    assert network_file_system(Path(path), mounts=mounts) == kind
    assert network_file_system(Path(path), mounts=tmp_path / "absent") is None


@pytest.mark.parametrize("holds", [b"{", b"[1]", b"\xff\xfe", b"[" * 200_000, b"1" * 100_000], ids=range(5))
def test_a_file_that_is_no_object_of_json_is_refused_in_a_sentence(holds: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(holds)
    with pytest.raises(CorruptDataError, match=r"a\.json .*; write it again") as refused:
        json_object(path, "settings", "write it again")
    assert len(str(refused.value)) < 500
    path.write_text('{"a": [1]}')
    assert json_object(path, "settings", "write it again") == {"a": [1]}


def test_a_pipe_is_no_object_of_json(strange: dict[str, Path]) -> None:
    with pytest.raises(DataError, match="is a pipe; expected settings"):
        json_object(strange["a pipe"], "settings", "write it again")
