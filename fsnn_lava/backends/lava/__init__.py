"""The network as Lava processes. The only folder that imports lava; `fsnn_lava.backends.lava.simulator` is the way in."""
