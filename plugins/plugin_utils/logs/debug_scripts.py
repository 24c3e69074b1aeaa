# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Resources for a cached archive of Microsoft's SDN debug scripts, and for the scripts that are unpacked from it."""

from __future__ import annotations

import re
import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ..artifacts import locations
from ..values.errors import ResourceError
from ..values.versions import DATA

KIND = "hns-debug-scripts"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def resources(
    commit: str,
    *,
    directory: str,
    cache_dir: str,
    sources: t.Mapping[str, t.Any] | None = None,
    **options: t.Any,
) -> list[dict[str, t.Any]]:
    r"""Return the resources for the archive of the SDN debug scripts, and for the scripts themselves.

    Args:
        commit: commit of microsoft/SDN, 40 hexadecimal digits; empty for the commit that the collection pins.
        directory: Windows path of the folder for the scripts. The scripts themselves expect `C:\k\debug`.
        cache_dir: Windows path of the node's cache folder.
        sources: the download settings that all roles share, such as `sites` and `upstream`.
        options: further arguments of `locations.resource`: `mirror`, `url`, `sha256`, `proxy`, and `no_proxy`.

    Raises:
        ResourceError: the commit is malformed, or an option is invalid.
    """
    data = yaml_load((DATA / "log_sources.yml").read_text(encoding="utf-8"))["sdn_debug_scripts"]
    commit = str(commit).strip().lower() or data["commit"]
    if not _COMMIT.fullmatch(commit):
        raise ResourceError("hns_debug_scripts_commit", commit, "expected 40 hexadecimal digits")
    artifact = locations.resource(KIND, commit, cache_dir=cache_dir, **{**(sources or {}), **options})
    top = f"{data['repository'].split('/')[-1]}-{commit}"
    return [
        artifact,
        *(
            {
                "type": "Archive",
                "name": f"SDN debug scripts of {folder}",
                "destination": directory,
                "path": artifact["path"],
                "members": [f"{top}/{folder}/{name}" for name in names],
                "strip_components": 1 + len(folder.split("/")),
                "check": names,
                "allowed_signers": artifact.get("allowed_signers", []),
            }
            for folder, names in data["scripts"].items()
        ),
    ]
