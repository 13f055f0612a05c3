"""Networks of other frameworks: measured for what their neurons do, converted, and compared with the source spike by spike."""
