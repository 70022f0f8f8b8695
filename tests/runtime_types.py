"""The run-time type checker of the test run: beartype, with int accepted where float is written (PEP 484)."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
