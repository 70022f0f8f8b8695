"""What a command makes is kept while it lasts."""

from contextvars import copy_context

from transferscope.once import keep_from_now, made_once, once

MADE: list[int] = []


@made_once(lambda n: n)
def doubled(n: int) -> int:
    MADE.append(n)
    return 2 * n


def test_a_process_that_keeps_from_now_shares_what_its_command_keeps() -> None:
    def both() -> None:
        with once():
            keep_from_now()  # before anything is kept
            assert doubled(3) == 6
        assert doubled(3) == 6  # no longer kept
        keep_from_now()
        assert [doubled(4), doubled(4)] == [8, 8]

    MADE.clear()
    copy_context().run(both)
    assert MADE == [3, 3, 4]
    assert doubled(4) == 8
    assert MADE == [3, 3, 4, 4]
