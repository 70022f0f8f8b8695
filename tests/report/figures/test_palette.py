from transferscope.report.figures.palette import BASELINE_COLOUR, looks


def test_every_method_has_its_own_look() -> None:
    methods = ["scratch", *(f"m{i}" for i in range(12))]
    found = looks(methods, "scratch")
    assert len({(look.colour, look.mark) for look in found.values()}) == len(methods)
    assert found["scratch"].colour == BASELINE_COLOUR


def test_a_baseline_does_not_shift_the_colours() -> None:
    assert looks(["scratch", "joint"], "scratch")["joint"] == looks(["joint"], None)["joint"]
