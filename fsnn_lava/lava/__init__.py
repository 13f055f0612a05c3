"""The network as Lava processes. The only folder that imports lava; `fsnn_lava.lava.simulator` is the way in."""
