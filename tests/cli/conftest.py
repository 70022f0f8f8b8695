import sys
from pathlib import Path

import pytest

from cli.called import Answer, Call
from transferscope.cli import main


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["transferscope", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.main()
        code = ended.value.code or 0
        return Answer(code if isinstance(code, int) else 1, *capsys.readouterr())

    return run
