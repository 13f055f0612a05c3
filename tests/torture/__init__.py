"""Faults on purpose: damaged files, killed processes, full disks, poor machines, long runs. `make torture` runs all of it, often."""
