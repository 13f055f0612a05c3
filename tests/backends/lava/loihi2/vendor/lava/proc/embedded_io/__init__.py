from lava.proc.embedded_io import spike

__all__ = ["spike"]
