"""Training: recipe, samples, loop, checkpoint, log, and distributed training."""
