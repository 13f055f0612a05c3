"""From the float network to integers: fold, calibrate, round, train through the rounding."""
