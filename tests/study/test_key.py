from transferscope.study.key import cell_key, shared_digest


def test_every_part_of_a_key_changes_it() -> None:
    keys = {
        cell_key("a", seed=0),
        cell_key("b", seed=0),
        cell_key("a", seed=1),
        cell_key("a", seed=0, n_target=1),
        cell_key("a", seed=0, n_source=1),
        cell_key("a", seed=0, needs=("x",)),
        cell_key("a", seed=0, needs=("x", "y")),
    }
    assert len(keys) == 7
    assert all(len(key) == 32 for key in keys)


def test_the_order_of_settings_does_not_matter() -> None:
    assert shared_digest({"a": 1, "b": {"c": 2.0, "d": None}}) == shared_digest({"b": {"d": None, "c": 2.0}, "a": 1})
    assert shared_digest({"a": 1}) != shared_digest({"a": 1.0})
