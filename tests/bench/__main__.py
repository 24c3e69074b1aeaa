# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run every measurement, print a table and write build/bench.json.

A measurement is a module `bench.measure_NAME` with a docstring that describes it and a function
`measure() -> Mapping[str, float]`, whose keys contain their unit (`seconds`, `megabytes_pss`, `remote_commands`).
`python -m bench NAME ...`, from tests/, runs only those with the given names.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

from ansible.plugins.loader import init_plugin_loader
from ansible.utils.collection_loader import AnsibleCollectionConfig

import bench

PREFIX = "measure_"
RESULT = Path(__file__).resolve().parents[2] / "build" / "bench.json"


def measurements() -> list[str]:
    """Return the names of all measurements, without their prefix."""
    return sorted(
        found.name.removeprefix(PREFIX)
        for found in pkgutil.iter_modules(bench.__path__)
        if found.name.startswith(PREFIX)
    )


def load(name: str) -> ModuleType:
    """Import a measurement, which imports the collection from where Ansible finds it."""
    if AnsibleCollectionConfig.collection_finder is None:
        init_plugin_loader([])
    return importlib.import_module(f"bench.{PREFIX}{name}")


def main(names: list[str]) -> int:
    """Run the measurements with the given names, or all of them if no name is given, and return the exit status."""
    known = measurements()
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"unknown measurements: {', '.join(unknown)} (known: {', '.join(known) or 'none'})", file=sys.stderr)
        return 2
    results = {}
    for name in names or known:
        results[name] = dict(load(name).measure())
        for key, value in results[name].items():
            print(f"{name:<32} {key:<28} {value:>12.6g}", flush=True)
    if not results:
        print("there is nothing to measure: tests/bench contains no module measure_*.py", file=sys.stderr)
        return 1
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
