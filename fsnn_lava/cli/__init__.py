"""The commands, one file each: they parse arguments, call the library, and turn errors into messages and exit codes."""

from fsnn_lava.compiled.threads import let_idle_threads_sleep

let_idle_threads_sleep()  # here, because importing a command may import torch
