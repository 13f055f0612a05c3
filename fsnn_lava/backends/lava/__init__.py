"""The network as Lava processes. This is the only folder that imports lava; start reading at `fsnn_lava.backends.lava.simulator`."""
