"""The names of the data sets; importing this module imports nothing else."""

from __future__ import annotations

NAMES = ("digits", "mnist", "fashion-mnist", "cifar10", "cifar100", "nmnist")
TONIC = "tonic:"  # prefix for the name of one of tonic's data sets
TONIC_SETS = (  # the data sets with one class per recording
    *("ASLDVS", "CIFAR10DVS", "DVSGesture", "DVSLip", "NCALTECH101", "NMNIST", "NTIDIGITS18", "POKERDVS", "SHD", "SMNIST", "SSC"),
)
