"""What worker processes are forked from: a process that has imported all, in which no garbage is looked for."""

import gc
from importlib import import_module

gc.disable()
import_module("transferscope.study.work")
gc.freeze()
gc.enable()
