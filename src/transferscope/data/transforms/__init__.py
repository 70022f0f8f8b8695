"""Transformations of whole data sets, named in a study file, for controlled similarity of source and target.

`apply_transforms(dataset, ["resize:28", "grey"], seed=0)`; `TRANSFORMS` lists them.
"""

from transferscope.data.transforms.apply import TRANSFORMS, Transform, apply_transforms, check_transforms

__all__ = ["TRANSFORMS", "Transform", "apply_transforms", "check_transforms"]
