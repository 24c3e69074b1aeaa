# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The program that the recorded cases call if they run on this machine; ../README.md describes it."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> int:
    """Do what the arguments request, in order, and return the exit code."""
    code = 0
    words = iter(sys.argv[1:])
    for word in words:
        if word == "--args":
            _print(json.dumps(list(words)))
        elif word == "--out":
            _print(next(words))
        elif word == "--err":
            sys.stderr.buffer.write(next(words).encode())
            sys.stderr.flush()
        elif word == "--code":
            code = int(next(words))
        elif word == "--sleep":
            time.sleep(float(next(words)))
        elif word == "--cat":
            _print(sys.stdin.buffer.read().hex())
        elif word == "--env":
            _print(os.environ.get(next(words), "unset"))
        elif word == "--count":
            path, expected = Path(next(words)), int(next(words))
            with path.open("ab") as file:
                file.write(b"x")
            code = 0 if path.stat().st_size >= expected else 3
    return code


def _print(text: str) -> None:
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
