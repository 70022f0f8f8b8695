"""Imports whatever commands import, for the process that those of the inputs are forked from: they start at once."""

import gc
import importlib
import pkgutil

import transferscope

LIBRARIES = [
    "PIL.Image",
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "pandas",
    "pyarrow.parquet",
    "rich.progress",
    "safetensors.torch",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.linear_model",
    "sklearn.manifold",
    "sqlalchemy.dialects.sqlite",
    "statsmodels.api",
    "typer.rich_utils",
]
"""What commands import when they need it."""

for module in pkgutil.walk_packages(transferscope.__path__, "transferscope."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # an optional package that is not installed
            if str(error.name).startswith("transferscope"):
                raise
for name in LIBRARIES:
    importlib.import_module(name)
gc.freeze()  # so that no fork of it copies them
