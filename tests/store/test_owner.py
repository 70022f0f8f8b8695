import os
import subprocess
import sys

import psutil

from transferscope.store import Owner


def test_an_owner_survives_being_written_down() -> None:
    for owner in (Owner.current(), Owner("my host name", 12, 1234.5)):
        found = Owner.parse(str(owner))
        assert (found.host, found.pid) == (owner.host, owner.pid)
        assert abs(found.started - owner.started) < 0.01


def test_this_process_lives_however_long_it_was_silent() -> None:
    me = Owner.current()
    assert me.pid == os.getpid()
    assert not me.is_gone(heartbeat=0.0, now=1e9)


def test_a_process_that_has_ended_is_gone_at_once() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = Owner(Owner.current().host, process.pid, psutil.Process(process.pid).create_time())
        assert not owner.is_gone(heartbeat=0.0, now=1e9)
        process.kill()
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            pass
        assert owner.is_gone(heartbeat=1e9, now=1e9)
    assert owner.is_gone(heartbeat=1e9, now=1e9)


def test_another_host_is_gone_after_a_minute_of_silence() -> None:
    there = Owner("elsewhere", os.getpid(), 0.0)
    assert not there.is_gone(heartbeat=100.0, now=160.0)
    assert there.is_gone(heartbeat=100.0, now=160.1)
