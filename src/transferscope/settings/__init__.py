"""What study files and commands may set: fields with their ranges, choices, defaults and meaning. No torch, no NumPy.

Import from the modules. Settings of networks, methods and diagnostics stand with what they set.
"""
