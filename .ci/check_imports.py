"""python .ci/check_imports.py: check the import contract in the setup.cfg of the current folder; details are printed only if it fails."""

from __future__ import annotations

import subprocess
import sys

# import-linter cannot be run with python -m, and it prints a logo that is longer than its result
LINT = 'from importlinter.cli import lint_imports_command as lint; lint(["--no-cache"])'


def main() -> int:
    done = subprocess.run([sys.executable, "-c", LINT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout if done.returncode else done.stdout.strip().splitlines()[-1])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
