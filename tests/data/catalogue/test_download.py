import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from transferscope.data.catalogue import RemoteFile
from transferscope.data.catalogue.entry import download
from transferscope.errors import CorruptDataError, DataError, MissingDataError

CONTENT = bytes(range(256)) * 1000
MD5 = hashlib.md5(CONTENT).hexdigest()


class Home(BaseHTTPRequestHandler):
    """Serves one file well or badly, by its folder; counts the requests by path."""

    asked: dict[str, int]

    def do_GET(self) -> None:
        asked = self.asked[self.path] = self.asked.get(self.path, 0) + 1
        how = self.path.split("/")[1]
        if how == "absent":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        if how == "corrupt":
            self.wfile.write(b"\0" * len(CONTENT))
        elif how == "broken" or (how == "flaky" and asked == 1):
            self.wfile.write(CONTENT[: len(CONTENT) // 2])
        else:
            self.wfile.write(CONTENT)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def home() -> Iterator[str]:
    handler = type("OneHome", (Home,), {"asked": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)


def remote(*addresses: str, md5: str = MD5) -> RemoteFile:
    return RemoteFile("images.bin", addresses, md5)


def test_what_is_there_is_not_fetched_again(home: str, tmp_path: Path) -> None:
    (tmp_path / "images.bin").write_bytes(CONTENT)
    download(remote(f"{home}/absent/x"), tmp_path)


def test_a_corrupt_download_is_thrown_away(home: str, tmp_path: Path) -> None:
    with pytest.raises(CorruptDataError, match="/corrupt/x returned a file without the MD5 checksum"):
        download(remote(f"{home}/absent/x", f"{home}/corrupt/x"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_address_that_fails_says_how(home: str, tmp_path: Path) -> None:
    reasons = {
        f"{home}/absent/x": "answers 404 Not Found",
        f"{home}/broken/x": "breaks off in the middle of the file",
        "http://127.0.0.1:9/x": "cannot be reached",
    }
    for address, reason in reasons.items():
        with pytest.raises(MissingDataError) as caught:
            download(remote(address), tmp_path)
        assert str(caught.value) == f"{address} {reason}"
    with pytest.raises(MissingDataError) as caught:
        download(remote(*reasons), tmp_path)
    assert str(caught.value) == "; ".join(f"{address} {reason}" for address, reason in reasons.items())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(home: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"/file/cache \("):
        download(remote(f"{home}/good/x"), tmp_path / "file" / "cache")


@pytest.mark.parametrize(
    ("ways", "before"),
    [
        (["good"], None),
        (["good"], b"half a download of another program"),
        (["flaky"], None),  # broken off at the first attempt
        (["absent", "corrupt", "good"], None),
    ],
)
def test_a_file_arrives_whole(home: str, tmp_path: Path, ways: list[str], before: bytes | None) -> None:
    folder = tmp_path / "new" / "folder"
    if before is not None:
        folder.mkdir(parents=True)
        (folder / "images.bin").write_bytes(before)
    path = download(remote(*(f"{home}/{way}/x" for way in ways)), folder)
    assert path == folder / "images.bin"
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in folder.iterdir()] == ["images.bin"]
