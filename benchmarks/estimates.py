"""How long runs take beside what planning said of them, from passes that it timed: ten networks.

    TRANSFERSCOPE_DATA=FOLDER python benchmarks/estimates.py [--steps 20] [--model FOLDER]

Each network is planned as a race plans it, and one run each of fine-tuning, of the last block and of LoRA is made with
as many steps as asked for. FOLDER of the model is all-MiniLM-L6-v2; all others but EfficientNet-lite0 have random
weights. Clocks are those of the processor, with one thread, so that other programs on the machine count less.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

time.perf_counter = time.process_time  # before the package takes it

import torch  # noqa: E402
from torch import nn  # noqa: E402

from transferscope.consent import allow  # noqa: E402
from transferscope.study.context import WorkContext  # noqa: E402
from transferscope.study.plan import plan_study  # noqa: E402
from transferscope.study.run_times import RunTimes  # noqa: E402
from transferscope.study.spec import parse_spec  # noqa: E402
from transferscope.study.work import work  # noqa: E402

LITE0 = f"{Path(__file__).parents[1] / 'examples' / 'imagenet.py'}:efficientnet_lite0"
METHODS: dict[str, dict[str, Any]] = {
    "fine-tune": {},
    "last-block": {"method": "fine-tune", "head": "probe", "frozen_blocks": -1},
    "lora": {},
}


def vgg() -> nn.Module:
    """A network of convolutions alone."""
    blocks = [
        nn.Sequential(
            nn.Conv2d(n, m, 3, padding=1), nn.ReLU(), nn.Conv2d(m, m, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        )
        for n, m in ((3, 32), (32, 64), (64, 128), (128, 256))
    ]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))


class _Bottleneck(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(4 * width, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add what the inner layers make of the maps."""
        return torch.relu(x + self.inner(x))


def resnet() -> nn.Module:
    """Bottlenecks with batch normalisation."""
    stem = nn.Sequential(nn.Conv2d(3, 64, 4, 4), nn.BatchNorm2d(64), nn.ReLU())
    wider = nn.Conv2d(64, 128, 2, 2)
    blocks = [stem, _Bottleneck(16), _Bottleneck(16), wider, _Bottleneck(32), _Bottleneck(32)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


def of_transformers(folder: Path, model: str) -> dict[str, tuple[str, str]]:
    """Networks with random weights in folders, and the data that they read."""
    sys.modules.setdefault("torchvision", None)  # type: ignore[arg-type]  # of another torch, transformers fails by it
    import transformers as t

    tokenizer = t.AutoTokenizer.from_pretrained(model)
    words = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    sizes = {"hidden_size": 192, "num_hidden_layers": 4, "num_attention_heads": 3, "intermediate_size": 768}
    texts = {
        "BERT, 4 layers": t.BertModel(t.BertConfig(**sizes, **words)),
        "DistilBERT, 3 layers": t.DistilBertModel(
            t.DistilBertConfig(dim=256, n_layers=3, n_heads=4, hidden_dim=1024, **words)
        ),
        "ELECTRA, 6 layers": t.ElectraModel(t.ElectraConfig(**{**sizes, "num_hidden_layers": 6}, **words)),
    }
    images = {
        "ViT, 4 layers": t.ViTModel(t.ViTConfig(**sizes, image_size=64, patch_size=8), add_pooling_layer=False),
        "ConvNeXt": t.ConvNextModel(t.ConvNextConfig(hidden_sizes=[32, 64, 128, 256], depths=[2, 2, 2, 2])),
    }
    found = {}
    for name, network in {**texts, **images}.items():
        place = folder / name.split(",")[0].lower()
        network.save_pretrained(place)
        if name in texts:
            tokenizer.save_pretrained(place)
        found[name] = (f"hf:{place}", "texts" if name in texts else "images")
    return found


def measured(network: str, data: dict[str, Any], options: dict[str, Any], steps: int, folder: Path) -> list[Any]:
    """By method: seconds that planning expects, and seconds of the run."""
    weights = folder / f"{network.rpartition(':')[2]}.pt"
    given = {"network": network, **options} | ({"weights": str(weights)} if weights.exists() else {})
    spec = parse_spec(
        {
            "name": "estimates",
            "seeds": 1,
            "target": {**data, "labels": [100], "test_limit": 200},
            "sources": {"given": given},
            "network": {"name": network, **options},
            "training": {"steps": steps},
            "methods": METHODS,
            "race": {},
        }
    )
    plan = plan_study(spec)
    times = RunTimes(plan.cells, plan.study.facts, {})
    found = []
    for cell in plan.cells:
        outcome = work(cell, WorkContext(folder, device="cpu"))
        found.append((str(cell.labels["method"]), times.expected(cell), outcome.cost.seconds))
    return found


def main() -> None:
    """Print a row for each network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--networks", nargs="*", help="beginnings of their names; all if not given")
    parser.add_argument("--model", default="models/all-MiniLM-L6-v2")
    given = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["TRANSFERSCOPE_FEATURES"] = "0"
    here = Path(__file__).resolve()
    print("| network | method | expected | taken | ratio |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made, scaled = of_transformers(folder, given.model), {"mean": 0.45, "std": 0.25}
        for one in (vgg, resnet):
            torch.save(one().state_dict(), folder / f"{one.__name__}.pt")
        networks: dict[str, tuple[str, str, dict[str, Any]]] = {
            "EfficientNet-lite0, 64 pixels": (LITE0, "images", {"input": {"size": 64}}),
            "EfficientNet-lite0, 128 pixels": (LITE0, "images", {"input": {"size": 128}}),
            "VGG-like": (f"{here}:vgg", "images", {"input": {"size": 32, **scaled}}),
            "ResNet-like": (f"{here}:resnet", "images", {"input": {"size": 64, **scaled}}),
            "all-MiniLM-L6-v2": (f"hf:{given.model}", "texts", {}),
            **{
                called: (network, kind, {} if kind == "texts" else {"input": {"size": 64, **scaled}})
                for called, (network, kind) in made.items()
            },
        }
        for called, (network, kind, options) in networks.items():
            if given.networks and not called.startswith(tuple(given.networks)):
                continue
            tokens = network if kind == "texts" else ""
            data = {
                "images": "npz:cifar10_18k.npz",
                "texts": "text:text/banking10_train.csv?text=text&label=category&test=text/banking10_test.csv"
                f"&max_length=64&tokenizer={tokens.removeprefix('hf:')}",
            }[kind]
            allow(network)
            for method, expected, taken in measured(network, {"data": data}, options, given.steps, folder):
                ratio = "" if expected is None else f"{taken / expected:.2f}"
                said = "none" if expected is None else f"{expected:.1f}"
                print(f"| {called} | {method} | {said} | {taken:.1f} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
