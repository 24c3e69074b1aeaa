# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The order in which the roles stop services: dependents come first, because they would be stopped implicitly."""

from __future__ import annotations

import pytest
from unit.roles.rendered import node, resources

# Lists of resources with services, or with archives that contain services' programs.
LISTS = {
    "containerd": ("container_runtime_resources", "kubernetes_node_resources"),
    "moby": (
        "container_runtime_resources",
        "kubernetes_node_resources",
        # On an overlay network, flanneld and kube-proxy depend on each other in the opposite direction.
        "node_join_resources | selectattr('name', 'defined') | selectattr('name', 'eq', 'kube-proxy') | list",
    ),
}


@pytest.mark.parametrize("runtime", LISTS)
def test_a_service_is_stopped_after_those_that_depend_on_it(runtime: str) -> None:
    known = node(runtime)
    found = [one for expression in LISTS[runtime] for one in resources(known, expression)]
    needed = {one["name"]: set(one.get("dependencies", ())) for one in found if one["type"] == "Service"}
    orders = [one["stops"] for one in found if one["type"] == "Archive" and one.get("stops")]
    assert any("kubelet" in order and needed["kubelet"] & set(order) for order in orders)
    for order in orders:
        wrong = [
            f"{first} before {later}"
            for position, first in enumerate(order)
            for later in order[position + 1 :]
            if first in needed.get(later, ())
        ]
        assert wrong == [], order
