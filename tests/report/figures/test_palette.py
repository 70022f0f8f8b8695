from transferscope.report.figures.palette import BASELINE_COLOUR, mark_styles


def test_every_method_has_its_own_look() -> None:
    methods = ["scratch", *(f"m{i}" for i in range(12))]
    found = mark_styles(methods, "scratch")
    assert len({(styles.colour, styles.mark) for styles in found.values()}) == len(methods)
    assert found["scratch"].colour == BASELINE_COLOUR


def test_a_baseline_does_not_shift_the_colours() -> None:
    assert mark_styles(["scratch", "joint"], "scratch")["joint"] == mark_styles(["joint"], None)["joint"]
