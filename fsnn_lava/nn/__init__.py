"""The float network: its notation, layers, feedback, simulation, equilibrium and gradient."""
