"""Everything integer: the network as the chip holds it, and how it gets there from the float one."""
