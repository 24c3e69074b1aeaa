# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Repeats tests on a machine that is kept busy: a test that fails here depends on the time that things take.

python tests/soak.py --repetitions 20 --busy 4 -- -m waits tests
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep as many processors busy as there are loops."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def main(arguments: list[str]) -> int:
    """Run pytest as often as asked, without reruns; the exit status says whether it ever failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--busy", type=int, default=4, help="busy loops beside the tests")
    parser.add_argument("pytest", nargs="*", help="options of pytest")
    options = parser.parse_args(arguments)
    failures: list[int] = []
    with busy(options.busy):
        for number in range(1, options.repetitions + 1):
            print(f"soak: repetition {number} of {options.repetitions}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", *options.pytest]
            # Each repetition draws its own points and examples.
            environment = os.environ | {"WINKUBE_SWEEP_SEED": str(number)}
            if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
                failures.append(number)
    failed = f", in {', '.join(map(str, failures))}" if failures else ""
    print(f"soak: {options.repetitions} repetitions beside {options.busy} busy loops, {len(failures)} failed{failed}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
