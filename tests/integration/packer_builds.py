# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Building an image with Packer's `null` source on a simulated server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from integration.playbooks import PASSWORD, PlayRun, Site
from unit.packer.packer_templates import Packer
from unit.packer.packer_variables import BASE

HOST = "builder"
"""The name of the machine in the inventory that Packer writes."""
_PREFIX = re.compile(r"^(?:==> |    )image\.null\.existing: ?", re.MULTILINE)


def packer_build(site: Site, variables: Mapping[str, Any]) -> PlayRun:
    """Build an image from the server `builder` of a site with Packer and its Ansible provisioner.

    Args:
        site: the site. Its variables reach the playbook through a file, except for those of the connection.
        variables: further variables of the roles.
    """
    inventory = site.inventory()["node_windows"]
    known = {**inventory["vars"], **inventory["hosts"][HOST], **variables}
    file = site.folder / "roles.json"
    file.write_text(json.dumps({name: value for name, value in known.items() if not name.startswith("ansible_")}))
    for node in site.world.fleet.nodes.values():
        node.server.counters.reset()
    packer = Packer(site.folder / "templates", ansible=True)
    image = {
        "base": BASE | {"host": site.machine(HOST).address},
        "existing": {"user": site.machine(HOST).settings.user, "port": 5986},
        "build_password": PASSWORD,
        "kubernetes": {
            "kube_node_versions": known.get("kube_node_versions", [known["kube_version"]]),
            "kube_version": known["kube_version"],
        },
        "variables_files": [str(file)],
    }
    parameters = site.folder / "image.pkrvars.json"
    parameters.write_text(json.dumps(image))
    command = ["packer", "build", "-color=false", "-only=image.null.existing", f"-var-file={parameters}"]
    # The playbook writes its reports to the working folder.
    code, output = packer.start(
        [*command, str(packer.templates)], site.folder, environment=site.environment(), timeout=300
    )
    return site.result(code, _PREFIX.sub("", output))
