# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create the default contents of namespaces, and delete all objects in namespaces that are being deleted.

In kube-controller-manager, the serviceaccount, root-ca-certificate-publisher and namespace controllers do this.
"""

from __future__ import annotations

from ..objects import Objects
from ..resources import Object, type_of

_CA_ANNOTATION = {
    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using"
    " internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed"
    " across distributions of Kubernetes clusters."
}


class NamespaceController:
    """The controller that creates the default contents of namespaces, and empties namespaces that are being deleted."""

    watches: tuple[str, ...] = ("namespaces", "serviceaccounts", "configmaps", "pods")
    every = 0.0

    def __init__(self, objects: Objects, ca: str) -> None:
        self._objects = objects
        self._ca = ca

    def sync(self) -> None:
        """Create the default contents of each namespace, or empty the namespace if it is being deleted."""
        for namespace in self._objects.store.peek_all("namespaces"):
            if namespace["metadata"].get("deletionTimestamp"):
                self._empty(namespace)
            else:
                self._fill(namespace["metadata"]["name"])

    def _fill(self, name: str) -> None:
        store = self._objects.store
        if store.peek("serviceaccounts", name, "default") is None:
            self._objects.create(type_of("serviceaccounts"), name, {"metadata": {"name": "default"}})
        if store.peek("configmaps", name, "kube-root-ca.crt") is None:
            metadata = {"name": "kube-root-ca.crt", "annotations": dict(_CA_ANNOTATION)}
            self._objects.create(type_of("configmaps"), name, {"metadata": metadata, "data": {"ca.crt": self._ca}})

    def _empty(self, namespace: Object) -> None:
        name, left = namespace["metadata"]["name"], 0
        for kind in self._objects.store.types():
            if not kind.namespaced or "delete" not in kind.verbs:
                continue
            for one in self._objects.store.peek_all(kind.key, name):
                if not one["metadata"].get("deletionTimestamp"):
                    self._objects.delete(kind, name, one["metadata"]["name"], {})
            left += len(self._objects.store.peek_all(kind.key, name))
        if left == 0 and namespace["spec"].get("finalizers"):
            bare: Object = {"spec": {"finalizers": []}}
            self._objects.update(type_of("namespaces"), "", name, lambda live: live | bare)
