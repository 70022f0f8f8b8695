"""Options that take several values, which click only knows one at a time."""

from collections.abc import Collection, Sequence


def one_option_per_value(arguments: Sequence[str], options: Collection[str]) -> list[str]:
    """Repeat an option before each of its values: `--labels 100 600` becomes `--labels 100 --labels 600`.

    Args:
        arguments: What was typed.
        options: The options that take several values: all words up to the next that begins with "-".

    Returns:
        The arguments as click reads them.
    """
    spread: list[str] = []
    current: str | None = None
    for argument in arguments:
        if argument.startswith("-"):
            current = argument if argument in options else None
            if current is None:
                spread.append(argument)
        elif current is not None:
            spread += [current, argument]
        else:
            spread.append(argument)
    return spread
