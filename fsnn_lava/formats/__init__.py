"""File formats for networks (NetX HDF5, NIR) and results. Every writer is atomic; every reader rejects what it does not understand."""
