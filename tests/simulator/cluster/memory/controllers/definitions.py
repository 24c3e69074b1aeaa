# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Serve the resource types that CustomResourceDefinitions define.

As in a real cluster, a type becomes available a moment after its definition is created.

Source: k8s.io/apiextensions-apiserver pkg/controller/{establish,status,finalizer}.
"""

from __future__ import annotations

from .. import clock
from ..objects import Objects
from ..resources import Object, ResourceType, type_of

_CONDITIONS = (
    ("NamesAccepted", "NoConflicts", "no conflicts found"),
    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
)


class DefinitionController:
    """The controller that keeps the served resource types in line with the CustomResourceDefinitions.

    Deleting a definition also deletes all objects of its type.
    """

    watches: tuple[str, ...] = ("customresourcedefinitions",)
    every = 0.0

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sync(self) -> None:
        """Add the resource types that CustomResourceDefinitions define, and remove those no longer defined."""
        store = self._objects.store
        definitions = store.peek_all("customresourcedefinitions")
        defined = [kind for one in definitions for kind in _types(one)]
        for kind in defined:
            if store.find_type(kind.group, kind.version, kind.plural) != kind:
                store.define(kind)
        for kind in store.types():
            if kind.custom and kind not in defined:
                store.undefine(kind)
        for one in definitions:
            if not (one.get("status") or {}).get("conditions"):
                self._establish(one)

    def _establish(self, definition: Object) -> None:
        now, spec = clock.now(), definition["spec"]
        conditions = [
            {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
            for kind, reason, message in _CONDITIONS
        ]
        stored = [one["name"] for one in spec["versions"] if one.get("storage")]
        status = {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}
        self._objects.update(
            type_of("customresourcedefinitions"),
            "",
            definition["metadata"]["name"],
            lambda live: live | {"status": status},
            subresource="status",
        )


def _types(definition: Object) -> list[ResourceType]:
    spec = definition["spec"]
    names = spec["names"]
    return [
        ResourceType(
            spec["group"],
            version["name"],
            names["plural"],
            names["kind"],
            spec.get("scope") == "Namespaced",
            tuple(names.get("shortNames") or ()),
            tuple(name for name in ("status", "scale") if name in (version.get("subresources") or {})),
            custom=True,
        )
        for version in spec["versions"]
        if version.get("served")
    ]
