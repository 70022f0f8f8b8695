"""Trackers, which show runs elsewhere: they follow the store of a study while it runs, and are never in its way."""

from transferscope.study.track.follow import Tracked, Tracker, followed

__all__ = ["Tracked", "Tracker", "followed"]
