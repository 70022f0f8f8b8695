"""A command as the trainer: any script, in any language, whose runs the engine makes, resumes, races and compares."""
