"""Training: recipe (what), loop (how), checkpoint (so that nothing is lost), log (what happened), distributed (on many processes)."""
