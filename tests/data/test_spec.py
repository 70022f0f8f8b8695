import re
from collections.abc import Callable

import pytest

from transferscope.data.spec import DataSpec, parse_spec
from transferscope.errors import SettingsError


def test_a_bare_name_has_no_path_and_no_options() -> None:
    assert parse_spec("mnist") == DataSpec("mnist", "mnist")


def test_options_may_repeat_and_hold_any_character() -> None:
    spec = parse_spec("csv:my houses.csv?label=a%26b=c&label=price in €&drop=100%25")
    assert (spec.kind, spec.path) == ("csv", "my houses.csv")
    assert spec.options == {"label": ("a&b=c", "price in €"), "drop": ("100%",)}


def test_the_last_question_mark_starts_the_options() -> None:
    outer = parse_spec("half-images:folder:photos?resize=32?parts=AB")
    assert (outer.kind, outer.path) == ("half-images", "folder:photos?resize=32")
    assert outer.options == {"parts": ("AB",)}
    assert parse_spec(outer.path).options == {"resize": ("32",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "^'' contains no data; expected a name such as 'mnist' or 'npz:PATH'$"),
        (":x", "^':x' contains no data; expected a name"),
        ("csv:a.csv?label", r"^'csv:a\.csv\?label' has the option 'label'; expected key=value"),
    ],
)
def test_what_is_no_name_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_spec(text)


def test_options_are_read_by_type() -> None:
    spec = parse_spec("x?n=3&share=0.25&pose=-1&word=yes")
    assert (spec.integer("n"), spec.share("share"), spec.number("pose")) == (3, 0.25, -1.0)
    assert spec.choice("word", ("yes", "no")) == "yes"
    absent = [spec.integer("m"), spec.share("m"), spec.number("m"), spec.choice("m", ("a",)), spec.one("m")]
    assert absent == [None] * 5


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda spec: spec.one("n"), "TEXT gives 'n' 2 times; give it once"),
        (lambda spec: spec.integer("zero"), "TEXT: zero = 0 is out of range; expected a whole number of at least 1"),
        (lambda spec: spec.share("share"), "TEXT: share = 1.5 is out of range; expected a number between 0 and 1"),
        (lambda spec: spec.number("word"), "TEXT has word = 'yse'; expected a number"),
        (lambda spec: spec.choice("word", ("yes", "no")), "unknown word of x 'yse': did you mean 'yes'?"),
        (lambda spec: spec.allow(("n", "zero", "share", "world")), "unknown option of x 'word': did you mean 'world'?"),
        (lambda spec: spec.allow(()), "TEXT has the option 'n', but x accepts none; leave it out"),
    ],
)
def test_a_wrong_value_is_refused(read: Callable[[DataSpec], object], message: str) -> None:
    text = "x?n=3&n=4&zero=0&share=1.5&word=yse"
    with pytest.raises(SettingsError, match="^" + re.escape(message.replace("TEXT", repr(text)))):
        read(parse_spec(text))
