"""Transferability scores: arrays of features and labels in, an Estimate out. The room is kept; nothing is built yet."""
