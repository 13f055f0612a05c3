"""Run a network over a data set: options, batches, processes, interruption and resumption."""
