import os
import signal
import sys
import threading

import pytest

from transferscope.study.interrupt import Interrupt, deferred_interrupt


def test_the_first_interruption_is_noted_and_the_second_stops_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with deferred_interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.requested
        with pytest.raises(KeyboardInterrupt):
            interrupt.raise_if_requested()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    found: list[Interrupt] = []

    def enter() -> None:
        with deferred_interrupt() as interrupt:
            found.append(interrupt)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    found[0].raise_if_requested()


def test_an_interruption_that_python_drops_is_noted_all_the_same() -> None:
    class Finalised:
        def __del__(self) -> None:  # whatever is raised here is only written to sys.unraisablehook
            os.kill(os.getpid(), signal.SIGINT)

    dropped: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda raised: dropped.append(raised.exc_type)
    try:
        with deferred_interrupt(at_once=True) as interrupt:
            finalised = Finalised()
            del finalised
            with pytest.raises(KeyboardInterrupt):
                interrupt.raise_if_requested()
    finally:
        sys.unraisablehook = hook
    assert dropped == [KeyboardInterrupt]


def test_an_interruption_stops_at_once_where_that_is_asked_for() -> None:
    with deferred_interrupt(at_once=True), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
