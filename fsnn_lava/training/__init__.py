"""Training: recipes, samples, the training loop, checkpoints, logs, and distributed training."""
