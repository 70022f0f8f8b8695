"""Ctrl-C as a wish that is granted at a good moment."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Interrupt:
    """Whether somebody has asked to stop."""

    requested: bool = False

    def raise_if_requested(self) -> None:
        """Stop here if somebody has asked to.

        Raises:
            KeyboardInterrupt: Somebody has.
        """
        if self.requested:
            raise KeyboardInterrupt


@contextmanager
def deferred_interrupt(*, at_once: bool = False) -> Iterator[Interrupt]:
    """Let the first Ctrl-C only be noted, and the second one stop at once, as usual.

    Outside the main thread, where signals cannot be handled, it does nothing.

    Args:
        at_once: Stop at the first one, where the program stands. It is noted as well, because Python drops an
            exception that is raised in a finaliser or a callback: the work in hand may go on, what follows does not.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def note(_signal: int, _frame: FrameType | None) -> None:
        interrupt.requested = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if at_once:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
