"""From the float network to integers: fold, calibrate, round; and fake quantisation for training."""
