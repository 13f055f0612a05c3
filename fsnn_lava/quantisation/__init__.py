"""Quantisation, from the float network to integers: fold, calibrate and round; also fake quantisation for training."""
