from transferscope.analyses.compare.cautions import cautions, early_stopping, weak_inner_heads


def counts(n_test: int, target: int, source: int) -> dict[str, int]:
    return {"n_test": n_test, "in_target_train": target, "in_source_train": source, "in_any": target + source}


def test_test_examples_that_are_trained_on_are_told() -> None:
    leakage = {"": counts(2000, 3, 0), "<b>": counts(2000, 3, 40), "clean": counts(2000, 3, 0)}
    assert cautions({"leakage": leakage}, [100]) == (
        "Some target test examples are also in a training set, value by value: 3 of 2,000 in the target's own and 40 "
        "of 2,000 in that of source <b>; a method that learns from them scores too well.",
    )
    assert cautions({"leakage": {"": counts(2000, 0, 0)}}, [100]) == ()


def test_a_source_that_is_the_target_is_told() -> None:
    facts = {"target": {"fingerprint": "a"}, "sources": {"digits": {"fingerprint": "a"}, "other": {"fingerprint": "b"}}}
    assert cautions(facts, [100]) == (
        "digits is the target's own data with all of their labels: what is gained from there is what more labels give, "
        "and says nothing of transfer.",
    )
    assert cautions({"target": {}, "sources": {"net": {}}}, [100]) == ()


def test_rare_classes_are_told_where_all_examples_count_the_same() -> None:
    target = {"kind": "classification", "n_outputs": 3, "classes": ["ok", "<scratch>", "dent"]}
    facts = {"target": target | {"class_counts": {"train": [9, 9, 9], "test": [930, 50, 20]}}}
    (said,) = cautions(facts, [100])
    assert said.startswith("Of the test examples 93 % are “ok” and 2 % “dent”: accuracy is mostly about the frequent")
    assert 'metric = "balanced-accuracy" in [target]' in said
    assert cautions(facts, [100], by_class=True) == ()
    assert cautions({"target": target | {"class_counts": {"test": [400, 100, 0]}}}, [100]) == ()
    assert cautions({"target": target | {"class_counts": {"test": [500, 100, 0]}}}, [100]) != ()


def test_classes_with_few_test_examples_are_told_where_every_class_counts_the_same() -> None:
    target = {"kind": "classification", "n_outputs": 3, "classes": ["ok", "<scratch>", "dent"]}
    facts = {"target": target | {"class_counts": {"test": [930, 5, 12]}}}
    (said,) = cautions(facts, [100], by_class=True)
    assert said.startswith("Only 5 test examples are “<scratch>”, and 1 other class fewer than 20. What this study is")
    (said,) = cautions({"target": target | {"class_counts": {"test": [930, 20, 1]}}}, [100], by_class=True)
    assert said.startswith("Only 1 test example is “dent”. What")
    assert cautions({"target": target | {"class_counts": {"test": [930, 20, 0]}}}, [100], by_class=True) == ()


def test_counts_of_a_damaged_store_are_no_counts() -> None:
    for names, counts in ((["a"], [3, 4]), ([["x"], "b"], [3, 400]), (["a", "b"], [None, "4"]), ("ab", [1, 2])):
        facts = {"target": {"kind": "classification", "classes": names, "class_counts": {"test": counts}}}
        for by_class in (False, True):
            assert all(isinstance(said, str) for said in cautions(facts, [5], by_class=by_class))


def test_fewer_labels_than_classes_are_told() -> None:
    facts = {"target": {"kind": "classification", "n_outputs": 10}}
    assert cautions(facts, [9, 5, 10, 5]) == (
        "With 5 or 9 labels some of the 10 classes have no example to learn from, so no method can get them right.",
    )
    assert cautions(facts, [10]) == ()


def test_a_study_of_numbers_or_of_theory_has_no_classes() -> None:
    assert cautions({"target": {"kind": "regression", "n_outputs": 3}}, [1]) == ()
    assert cautions({}, [1]) == ()


def test_inner_heads_that_predict_no_better_than_the_mean_are_told_once_for_each_method() -> None:
    runs = [("merlin", 100, 0.97), ("merlin", 100, 0.5), ("merlin", 100, 1.04), ("merlin", 600, 0.3)]
    assert weak_inner_heads(runs) == (
        "In 2 of 3 runs of merlin with 100 labels the inner head predicted no better than the mean (leave-one-out risk "
        "up to 1.04 of the mean's), so that it could not tell which features generalise: give it larger halves "
        "(target_batch) or more labels.",
    )
    assert weak_inner_heads([("merlin", 600, 0.949)]) == ()
    assert weak_inner_heads([]) == ()


def test_statistics_that_follow_the_batches_of_a_small_target_are_said() -> None:
    facts = {"sources": {"imagenet": {"network": "x", "follows_batches": True}, "other": {"network": "y"}}}
    (said,) = cautions(facts, [100])
    assert said.startswith("imagenet has batch normalisation, which training lets follow the target's batches")
    assert said.endswith('batch_norm = "auto" in [training] keeps the statistics of pre-training.')


def test_what_early_stopping_did_is_said_for_each_number_of_labels() -> None:
    nan = float("nan")
    assert early_stopping([(100, 40.0), (20, nan), (100, nan), (100, 10.0), (20, nan), (100, 30.0)]) == (
        "With 20 labels nothing was held out to stop training by, which takes four labels of each class (16 in all): "
        "runs trained to the end.",
        "With 100 labels training was stopped by a held-out quarter of the labels; the weights kept are those of step "
        "10 to 40 (median 30).",
    )
