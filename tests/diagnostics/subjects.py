"""Small networks and data that the diagnostics are tried on."""

from transferscope.testing.diagnostics import cnn, cnn_subject, images, mlp, mlp_subject, vectors

__all__ = ["cnn", "cnn_subject", "images", "mlp", "mlp_subject", "vectors"]
