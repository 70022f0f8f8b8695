"""Commands as trainers: scripts in any language, whose runs are executed, resumed, raced and compared."""
