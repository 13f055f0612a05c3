"""Solvers for a = f(a) and for linear systems, one file per method. They know nothing about networks."""
