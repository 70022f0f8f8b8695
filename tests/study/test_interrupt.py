import os
import signal
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
