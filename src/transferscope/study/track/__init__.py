"""Experiment trackers, which follow the store of a running study without affecting it."""

from transferscope.study.track.follow import followed
from transferscope.study.track.tracker import Tracked, Tracker

__all__ = ["Tracked", "Tracker", "followed"]
