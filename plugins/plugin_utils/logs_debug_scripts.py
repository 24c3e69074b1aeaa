# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Microsoft's SDN debug scripts as resources of a node: one cached archive, and the scripts from it. Pure.

Private to the collection.
"""

from __future__ import annotations

import re
import typing as t

import yaml

from .artifacts import locate, mirrored
from .versions import DATA

KIND = "sdn-debug-scripts"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def resources(
    commit: str,
    *,
    directory: str,
    cache_dir: str,
    mirror: str = "",
    url: str = "",
    sha256: str = "",
    proxy: str = "",
    no_proxy: str = "",
) -> list[dict[str, t.Any]]:
    """Resources for node_state.

    Args:
        commit: of microsoft/SDN, 40 hexadecimal digits; empty: the one that the collection pins.
        directory: Windows path where the scripts go; they expect `C:\\k\\debug`.
        cache_dir: Windows path of the node's cache folder.
        mirror: base URL of a mirror that keeps upstream's host as its first folder; empty: GitHub itself.
        url: replaces GitHub's URL of the commit's archive.
        sha256: of the archive; empty: it is accepted unverified.
        proxy: URL of the proxy for the download.
        no_proxy: addresses that are reached without it.

    Raises:
        ValueError: the commit is none.
    """
    data = yaml.safe_load((DATA / "log_sources.yml").read_text(encoding="utf-8"))["sdn_debug_scripts"]
    commit = str(commit).strip().lower() or data["commit"]
    if not _COMMIT.fullmatch(commit):
        raise ValueError(f"hns_debug_scripts_commit: {commit!r} is not accepted; wanted 40 hexadecimal digits")
    upstream = f"https://github.com/{data['repository']}/archive/{commit}.tar.gz"
    source = locate(KIND, commit, cache_dir=cache_dir, url=url or mirrored(upstream, mirror))
    artifact: dict[str, t.Any] = {
        "type": "Artifact",
        "name": f"{KIND} {commit[:12]}",
        "path": source.path,
        "urls": [source.url],
        **({"sha256": sha256} if sha256 else {"allow_unverified": True}),
        **({"proxy": proxy, "no_proxy": no_proxy} if proxy else {}),
    }
    top = f"{data['repository'].split('/')[-1]}-{commit}"
    return [
        artifact,
        *(
            {
                "type": "Archive",
                "name": f"SDN debug scripts of {folder}",
                "destination": directory,
                "path": source.path,
                "members": [f"{top}/{folder}/{name}" for name in names],
                "strip_components": 1 + len(folder.split("/")),
                "check": names,
            }
            for folder, names in data["scripts"].items()
        ),
    ]
