# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A site with spare servers, and hooks that hand them out as new machines, for tests of replace_nodes.yml."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from integration import joined_nodes
from integration.playbooks import PASSWORD, Site, cluster_api
from kubernetes import client

GENERATION = "g2"
VARIABLES = {
    # The programs of containerd and of the network are there already.
    "node_prepare_roles": ["windows_settings", "kubernetes_node"],
    "cni_plugin": "none",
}
LABEL = "winkube.node-restriction.kubernetes.io/generation"
RECORD = "winkube.node/replaced-by"
_HOOK = """#!{python}
import fcntl, json, pathlib, sys
folder, action, name = pathlib.Path({folder!r}), sys.argv[1], sys.argv[2]
calls = (folder / "calls").open("a")
# Several hosts call the hook at the same time. The lock ends with the process.
fcntl.flock(calls, fcntl.LOCK_EX)
print(action, name, file=calls, flush=True)
if (folder / f"{{action}} fails").exists():
    sys.exit("no quota, password=hook-s3cret")
file = folder / "machines.json"
machines = json.loads(file.read_text()) if file.exists() else {{}}
spares = json.loads((folder / "spares.json").read_text())
if action == "create":
    if name not in machines:
        machines[name] = next(one for one in spares if one not in machines.values())
    file.with_suffix(".new").write_text(json.dumps(machines))
    file.with_suffix(".new").rename(file)
    print(json.dumps({{"name": name, "address": machines[name], "variables": {{"ansible_password": {password!r}}}}}))
"""


class SiteWithSpares(Site):
    """A site whose inventory does not contain the spare servers, which are machines that a hook can create."""

    @classmethod
    def of(cls, site: Site, nodes: Sequence[str], spares: Sequence[str]) -> SiteWithSpares:
        """Return the site, with some of its servers as nodes, and prepared spare ones.

        Args:
            site: the site.
            nodes: the servers that join the site's cluster, under their own names.
            spares: the servers that the hook hands out.
        """
        found = cls(site.world, site.folder, {**VARIABLES, **site.variables})
        found.spares = spares
        found.hooks = site.folder / "hooks"
        found.hooks.mkdir()
        addresses = [site.machine(name).address for name in spares]
        (found.hooks / "spares.json").write_text(json.dumps(addresses), encoding="utf-8")
        program = found.hooks / "hook"
        text = _HOOK.format(python=sys.executable, folder=str(found.hooks), password=PASSWORD)
        program.write_text(text, encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        found.variables |= {
            "node_replace_generation": GENERATION,
            "node_replace_create_command": [str(program), "create", "{{ inventory_hostname }}"],
            "replace_confirmation": True,
        }
        for name in spares:
            joined_nodes.prepare(found, name)
        joined_nodes.join(found, nodes)
        return found

    spares: Sequence[str]
    hooks: Path
    """The folder of the hook: it contains its program, its calls, and the machines that it has handed out."""
    added: dict[str, dict[str, Any]]
    removed: tuple[str, ...] = ()

    def inventory(self) -> dict[str, Any]:
        """Return the inventory without the spare servers and the removed hosts, and with the added ones."""
        found = super().inventory()
        hosts = found["node_windows"]["hosts"]
        kept = {name: about for name, about in hosts.items() if name not in (*self.spares, *self.removed)}
        found["node_windows"]["hosts"] = kept | getattr(self, "added", {})
        return found

    def calls(self) -> list[str]:
        """Return the calls of the hook."""
        file = self.hooks / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def machines(self) -> dict[str, str]:
        """Return the addresses of the machines that the hook has handed out, by name."""
        file = self.hooks / "machines.json"
        return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}

    def nodes(self) -> dict[str, Any]:
        """Return the cluster's Windows nodes by name."""
        found = client.CoreV1Api(cluster_api(self)).list_node(label_selector="kubernetes.io/os=windows")
        return {node.metadata.name: node for node in found.items}
