"""One file per source framework: which of its modules are neurons, how to run them from rest, and where their recurrent weights are."""
