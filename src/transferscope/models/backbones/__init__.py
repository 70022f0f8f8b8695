"""Backbones, one family per file, each a function (input_shape, widths) -> Backbone."""
