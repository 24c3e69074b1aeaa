# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A bundle with one patch, built by its actions."""

from __future__ import annotations

import hashlib
import typing as t
from pathlib import Path

from unit.action_run import run, variables_of

from ansible_collections.winkube.node.plugins.action import bundle, bundle_content

PATCH = b"the content of a patch"
SHA256 = hashlib.sha256(PATCH).hexdigest()
FILE = f"patches/{SHA256}/kb5999001.msu"


def patch(site: Path) -> dict[str, str]:
    return {"kb": "KB5999001", "file": str(site / "kb5999001.msu"), "sha256": SHA256}


def needs(site: Path) -> dict[str, t.Any]:
    """Return the needs of a host with one patch."""
    return run(bundle_content, {"patches": [patch(site)]}, {"inventory_hostname": "a"})


def make(site: Path, *results: object, check_mode: bool = False, **options: t.Any) -> dict[str, t.Any]:
    """Build a bundle for hosts with these results."""
    variables = variables_of({f"host{number}": {"needs": result} for number, result in enumerate(results)})
    given = {"path": str(site / "bundle"), "key": str(site / "key"), "results_var": "needs", **options}
    return run(bundle, given, variables, check_mode=check_mode)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
