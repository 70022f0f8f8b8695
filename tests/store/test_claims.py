import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest

from transferscope.store import Owner
from transferscope.store.claims import _started

ME = Owner.current()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def owner_of(process: subprocess.Popen[bytes]) -> Owner:
    return replace(ME, pid=process.pid, started=_started(process.pid))


def wait_for(process: subprocess.Popen[bytes], status: str) -> None:
    while psutil.Process(process.pid).status() != status:
        time.sleep(0.01)


def test_an_owner_survives_being_written_down() -> None:
    for owner in (ME, Owner("my host name", "boot", "pid:[1]", 12, 1234)):
        assert Owner.parse(str(owner)) == owner


@pytest.mark.parametrize("text", [None, "", "nonsense", "host 12 1234.56", "a b c d e", "\udcff"])
def test_what_is_no_owner_is_none(text: str | None) -> None:
    assert Owner.parse(text) is None


def test_this_process_lives_however_long_it_was_silent() -> None:
    assert ME.pid == os.getpid()
    assert not ME.is_gone(silent=1e9)


def test_a_process_that_has_ended_is_gone_at_once(child: subprocess.Popen[bytes]) -> None:
    owner = owner_of(child)
    assert not owner.is_gone(silent=0.0)
    child.kill()
    wait_for(child, psutil.STATUS_ZOMBIE)
    assert owner.is_gone(silent=0.0)
    child.wait()
    assert owner.is_gone(silent=0.0)


def test_a_process_number_that_is_used_again_is_another_process() -> None:
    assert replace(ME, started=ME.started - 1).is_gone(silent=0.0)


def test_a_stopped_process_is_gone_after_a_minute(child: subprocess.Popen[bytes]) -> None:
    owner = owner_of(child)
    child.send_signal(signal.SIGSTOP)
    wait_for(child, psutil.STATUS_STOPPED)
    assert not owner.is_gone(silent=60.0)
    assert owner.is_gone(silent=60.1)
    child.send_signal(signal.SIGCONT)
    while psutil.Process(child.pid).status() == psutil.STATUS_STOPPED:
        time.sleep(0.01)
    assert not owner.is_gone(silent=60.1)


@pytest.mark.parametrize("elsewhere", [{"host": "elsewhere"}, {"boot": "another"}, {"namespace": "pid:[1]"}])
def test_a_process_that_cannot_be_seen_from_here_is_gone_after_a_minute_of_silence(elsewhere: dict[str, str]) -> None:
    there = replace(ME, started=0, **elsewhere)  # type: ignore[arg-type]
    assert not there.is_gone(silent=60.0)
    assert there.is_gone(silent=60.1)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is a time of day")
def test_the_start_is_counted_from_boot_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 0.0)
    monkeypatch.setattr("psutil.boot_time", lambda: 0.0)
    assert Owner.current() == ME
    since_boot = ME.started / os.sysconf("SC_CLK_TCK")
    assert 0 < since_boot <= time.clock_gettime(time.CLOCK_BOOTTIME)
