"""Solvers for a = f(a) and for linear systems. They know no network."""
