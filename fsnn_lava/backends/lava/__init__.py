"""The network as Lava processes. The only folder that imports lava; start reading at `fsnn_lava.backends.lava.simulator`."""
