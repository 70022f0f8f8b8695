"""Extrapolation of one error curve: a combination of laws with back-tests and intervals."""

from transferscope.scaling.extrapolation.extrapolate import BackTest, Extrapolation, extrapolate

__all__ = ["BackTest", "Extrapolation", "extrapolate"]
