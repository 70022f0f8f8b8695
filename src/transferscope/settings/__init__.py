"""Settings of study files and commands: fields with ranges, choices, defaults and meaning. No torch, no NumPy.

Import from the modules. Settings of networks, methods and diagnostics are in their own modules.
"""
