"""The float network: notation, layers, feedback, simulation, equilibrium, gradient."""
