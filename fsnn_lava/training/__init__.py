"""Training: recipe, samples, loop, checkpoint, log, and one network on many processes."""
