"""Trained models, found by name."""
