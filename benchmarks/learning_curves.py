"""Errors of six classifiers of scikit-learn on thirteen data sets by number of labels, the mean of four draws.

    python benchmarks/learning_curves.py DATA_FOLDER FILE.csv

Nothing was chosen on them: `benchmarks/plan_curves.py DATA_FOLDER --others FILE.csv` judges by them. Data sets that are
there are kept, so that a run that was stopped goes on.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

LEARNERS = {
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=60)),
    "nearest neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(20, random_state=0),
    "support vectors": lambda: make_pipeline(StandardScaler(), SVC()),
    "naive Bayes": lambda: GaussianNB(),
}
IMAGES = {"mnist": 4, "fashion_mnist": 4, "usps": 2, "cifar10_18k": 5}
TEXTS = {
    "banking10": ("text/banking10_train.csv", ",", "text", "category"),
    "CoLA": ("text/CoLA_train.tsv", "\t", 0, 1),
}
SIZES = 2 ** np.arange(4, 12)
DRAWS, MOST_TESTED = 4, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    names = [*IMAGES, *TEXTS, "taxi", "digits", "hastie", "xor", "informative", "quantiles", "moons"]
    done = set(pd.read_csv(asked.out)["data_set"]) if asked.out.exists() else set()
    for name in names:
        if name not in done:
            rows = pd.DataFrame(measured(name, *read(name, asked.data)))
            rows.to_csv(asked.out, mode="a", index=False, header=not asked.out.exists())


def read(name: str, data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes of a data set."""
    if name in IMAGES:
        held = np.load(data / f"{name}.npz")
        x = held["x_train"][:8000].astype(np.float32)
        x = x.mean(axis=3) if x.ndim == 4 else x
        step = IMAGES[name]
        return x[:, ::step, ::step].reshape(len(x), -1), held["y_train"][:8000]
    if name in TEXTS:
        path, separator, text, label = TEXTS[name]
        form = {"header": None, "quoting": 3} if separator == "\t" else {}
        rows = pd.read_csv(data / path, sep=separator, **form)
        vectors = TfidfVectorizer(min_df=2).fit_transform(rows[text].astype(str))
        return TruncatedSVD(60, random_state=0).fit_transform(vectors), pd.factorize(rows[label])[0]
    if name == "taxi":
        rows = pd.read_csv(data / "tables" / "taxi_yellow.csv")
        x = rows.drop(columns="total").select_dtypes("number").fillna(0.0)
        return x[["passengers", "distance"]].to_numpy(), (rows["total"] > rows["total"].median()).to_numpy(int)
    if name == "digits":
        return datasets.load_digits(return_X_y=True)
    generator = np.random.default_rng(0)
    if name == "xor":  # of three of eight signs
        x = generator.standard_normal((8000, 8))
        return x, (np.prod(np.sign(x[:, :3]), axis=1) > 0).astype(int)
    return {
        "hastie": lambda: datasets.make_hastie_10_2(8000, random_state=0),
        "informative": lambda: datasets.make_classification(8000, 30, n_informative=8, n_classes=5, random_state=0),
        "quantiles": lambda: datasets.make_gaussian_quantiles(
            n_samples=8000, n_features=6, n_classes=4, random_state=0
        ),
        "moons": lambda: datasets.make_moons(8000, noise=0.25, random_state=0),
    }[name]()


def measured(name: str, x: np.ndarray, y: np.ndarray) -> list[dict[str, object]]:
    rows = []
    order = np.random.default_rng(1).permutation(len(y))
    n_test = min(MOST_TESTED, len(y) // 4)
    test, rest = order[:n_test], order[n_test:]
    for learner, make in LEARNERS.items():
        for size in SIZES[len(rest) >= SIZES]:
            errors = []
            for draw in range(DRAWS):
                chosen = np.random.default_rng([draw, size]).choice(rest, size, replace=False)
                if len(np.unique(y[chosen])) > 1:
                    errors.append(float(np.mean(make().fit(x[chosen], y[chosen]).predict(x[test]) != y[test])))
            spread = np.std(errors, ddof=1) / np.sqrt(len(errors))
            rows.append({"data_set": name, "learner": learner, "x": size, "y": np.mean(errors), "stderr": spread})
    return rows


if __name__ == "__main__":
    main()
