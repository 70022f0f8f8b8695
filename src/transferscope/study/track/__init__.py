"""Trackers, which show runs elsewhere: they follow the store of a study while it runs, and are never in its way."""

from transferscope.study.track.follow import followed
from transferscope.study.track.tracker import Tracked, Tracker

__all__ = ["Tracked", "Tracker", "followed"]
