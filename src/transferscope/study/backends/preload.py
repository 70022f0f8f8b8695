"""The process from which workers are forked: all modules imported, garbage collection frozen."""

import gc
from importlib import import_module

gc.disable()
import_module("transferscope.study.work")
gc.freeze()
gc.enable()
