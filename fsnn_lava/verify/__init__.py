"""The comparator: is what ran still the network that was trained? Each link of the chain is judged separately (E10, E11, E12)."""
