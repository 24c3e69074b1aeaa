# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read, create, update, replace and delete objects as kube-apiserver does, with admission and validation."""

from __future__ import annotations

import copy
import datetime
import ipaddress
import random
import uuid
from collections.abc import Callable

from . import clock, schemas
from .errors import already_exists, bad_request, conflict, forbidden, invalid, not_found, required, wrong
from .kinds import Context, prepare_create, prepare_update, restrict, validate
from .requests import User
from .resources import Object, ResourceType
from .store import ObjectStore

SYSTEM = User("system:apiserver", ("system:masters", "system:authenticated"))
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_GENERATIONS = ("daemonsets", "deployments", "replicasets", "statefulsets", "poddisruptionbudgets", "pods", "jobs")
_CREATE_ON_UPDATE = ("leases", "events", "endpoints")
_SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class Objects:
    """The interface through which users read and write the cluster's objects, with admission and validation."""

    def __init__(self, store: ObjectStore, service_network: ipaddress.IPv4Network) -> None:
        self.store = store
        self._service_network = service_network

    def context(self, user: User) -> Context:
        """Return the context that admission needs for a user's request."""
        return Context(self.store, self._service_network, user)

    def read(self, kind: ResourceType, namespace: str, name: str) -> Object:
        """Return an object; the caller must not change it.

        Raises:
            ApiErrorResponse: the object does not exist (404).
        """
        found = self.store.peek(kind.key, namespace, name)
        if found is None:
            raise not_found(kind.plural, kind.group, name)
        return found

    def create(self, kind: ResourceType, namespace: str, obj: Object, user: User = SYSTEM, dry: bool = False) -> Object:
        """Create an object.

        Args:
            kind: the object's resource type.
            namespace: the namespace in the request's path.
            obj: the object from the client, which this method may change.
            user: the user who sent the request.
            dry: True to only check the object, without storing it.

        Raises:
            ApiErrorResponse: the object already exists, is invalid or is not allowed, or its namespace does not exist.
        """
        with self.store.lock:
            metadata = self._new_metadata(kind, namespace, obj)
            if kind.has_status and kind.key not in ("nodes", "pods"):
                obj.pop("status", None)
            restrict(self.context(user), "create", kind.key, obj, None)
            if self.store.peek(kind.key, namespace, metadata["name"]) is not None:
                raise already_exists(kind.plural, kind.group, metadata["name"])
            prepare_create(self.context(user), kind, obj)
            self._check(kind, obj, None)
            if kind.key in _GENERATIONS or kind.custom:
                metadata["generation"] = 1
            return copy.deepcopy(obj) if dry else self.store.put(kind.key, obj)

    def _new_metadata(self, kind: ResourceType, namespace: str, obj: Object) -> Object:
        self._check_identity(kind, obj)
        metadata: Object = obj.setdefault("metadata", {})
        if metadata.get("resourceVersion") not in (None, ""):
            raise bad_request("resourceVersion should not be set on objects to be created")
        if kind.namespaced:
            if metadata.setdefault("namespace", namespace) != namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            self._require_namespace(kind, namespace, metadata.get("name", ""))
        else:
            metadata.pop("namespace", None)
        if not metadata.get("name"):
            if not metadata.get("generateName"):
                raise invalid(
                    kind.kind, kind.group, "", [required("metadata.name", "name or generateName is required")]
                )
            suffix = "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
            metadata["name"] = metadata["generateName"] + suffix
        for key in ("managedFields", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"):
            if key != "managedFields" or not metadata.get(key):
                metadata.pop(key, None)
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = clock.now()
        return metadata

    def _check_identity(self, kind: ResourceType, obj: Object) -> None:
        found = (obj.setdefault("apiVersion", kind.group_version), obj.setdefault("kind", kind.kind))
        if found != (kind.group_version, kind.kind):
            text = f"the API version in the data ({found[0]}, Kind={found[1]}) does not match the expected API version"
            raise bad_request(f"{text} ({kind.group_version}, Kind={kind.kind})")

    def _require_namespace(self, kind: ResourceType, namespace: str, name: str) -> None:
        found = self.store.peek("namespaces", "", namespace)
        if found is None:
            raise not_found("namespaces", "", namespace)
        if found["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(kind.plural, kind.group, name, why)

    def _check(self, kind: ResourceType, obj: Object, old: Object | None) -> None:
        causes = validate(kind, obj, old)
        if kind.custom:
            definition = self.store.peek("customresourcedefinitions", "", kind.key)
            schema = schemas.schema_of(definition, kind.version) if definition else {}
            schemas.complete(obj, schema)
            causes += schemas.validate(obj, schema)
        if causes:
            raise invalid(kind.kind, kind.group, obj["metadata"]["name"], causes)

    def update(
        self,
        kind: ResourceType,
        namespace: str,
        name: str,
        change: Callable[[Object], Object],
        user: User = SYSTEM,
        subresource: str = "",
        dry: bool = False,
    ) -> Object:
        """Change an object atomically.

        Args:
            kind: the object's resource type.
            namespace, name: the object's namespace and name.
            change: a function that receives a copy of the object, and returns the new object.
            user: the user who sent the request.
            subresource: the subresource to write, such as "status" or "approval", or an empty string. With a
                subresource, only the metadata and the status are written. Otherwise, everything is written, except
                the status of types that have a status subresource.
            dry: True to only check the change, without storing it.

        Raises:
            ApiErrorResponse: the object does not exist or has changed in the meantime, or the new object is invalid or
                not allowed.
        """
        with self.store.lock:
            old = self.read(kind, namespace, name)
            new = change(copy.deepcopy(old))
            self._check_identity(kind, new)
            _check_same(kind, old, new)
            new = _keep(kind, old, new, subresource)
            if not subresource:
                prepare_update(kind, new)
            restrict(self.context(user), "update", kind.key, new, old)
            self._check(kind, new, old)
            if new == old:
                return old
            if (kind.key in _GENERATIONS or kind.custom) and new.get("spec") != old.get("spec"):
                new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
            if dry:
                return new
            if new["metadata"].get("deletionTimestamp") and not _is_held(kind, new):
                return self.store.remove(kind.key, namespace, name)
            return self.store.put(kind.key, new)

    def replace(
        self, kind: ResourceType, namespace: str, name: str, obj: Object, user: User, subresource: str, dry: bool
    ) -> tuple[Object, bool]:
        """Replace an object with the client's version of the object (PUT).

        Returns:
            The object, and whether it was created.

        Raises:
            ApiErrorResponse: an error of `create` or `update`, or the object's name differs from `name` (400), or a
                custom resource has no resourceVersion (422).
        """
        sent = obj.get("metadata", {}).get("name", name)
        if sent != name:
            raise bad_request(f"the name of the object ({sent}) does not match the name on the URL ({name})")
        with self.store.lock:
            absent = self.store.peek(kind.key, namespace, name) is None
            if absent and kind.key in _CREATE_ON_UPDATE and not subresource:
                return self.create(kind, namespace, obj, user, dry), True
            if kind.custom and not obj.get("metadata", {}).get("resourceVersion"):
                # Built-in types allow an unconditional update; custom resources do not.
                causes = [wrong("metadata.resourceVersion", 0, "must be specified for an update")]
                raise invalid(kind.kind, kind.group, name, causes)
            return self.update(kind, namespace, name, lambda _: obj, user, subresource, dry), False

    def delete(
        self, kind: ResourceType, namespace: str, name: str, options: Object, user: User = SYSTEM, dry: bool = False
    ) -> tuple[Object, bool]:
        """Delete an object, or mark it for deletion if a grace period or a finalizer delays the deletion.

        Args:
            kind: the object's resource type.
            namespace, name: the object's namespace and name.
            options: DeleteOptions (gracePeriodSeconds, preconditions, propagationPolicy).
            user: the user who sent the request.
            dry: True to only check the deletion, without deleting anything.

        Returns:
            The object's last state, and whether it is gone.

        Raises:
            ApiErrorResponse: the object does not exist, a precondition fails, or the deletion is not allowed.
        """
        with self.store.lock:
            old = self.read(kind, namespace, name)
            _check_preconditions(kind, old, options.get("preconditions") or {})
            restrict(self.context(user), "delete", kind.key, old, None)
            if kind.key == "namespaces" and name in _SYSTEM_NAMESPACES[:3]:
                raise forbidden("namespaces", "", name, "this namespace may not be deleted")
            seconds = _grace(kind, old, options)
            new = _marked(kind, old, seconds, options)
            if dry:
                return new, not _is_held(kind, new)
            if _is_held(kind, new):
                if new["metadata"] != old["metadata"]:
                    self.store.put(kind.key, new)
                return new, False
            return self.store.remove(kind.key, namespace, name), True


def _check_same(kind: ResourceType, old: Object, new: Object) -> None:
    metadata, before = new.setdefault("metadata", {}), old["metadata"]
    name = before["name"]
    version = metadata.get("resourceVersion")
    if metadata.get("uid") not in (None, "", before["uid"]):
        found = f"UID in precondition: {metadata['uid']}, UID in object meta: {before['uid']}"
        raise conflict(kind.plural, kind.group, name, f"Precondition failed: {found}")
    if version not in (None, "") and version != before["resourceVersion"]:
        raise conflict(kind.plural, kind.group, name)
    if metadata.setdefault("namespace", before.get("namespace")) != before.get("namespace"):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _keep(kind: ResourceType, old: Object, new: Object, subresource: str) -> Object:
    """Return the new object, but with the old values of fields that a write to this subresource must not change."""
    metadata = {key: value for key, value in new["metadata"].items() if key not in _KEPT and value is not None}
    metadata |= {key: old["metadata"][key] for key in ("name", *_KEPT) if key in old["metadata"]}
    metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
    if "managedFields" not in metadata and "managedFields" in old["metadata"]:
        metadata["managedFields"] = old["metadata"]["managedFields"]
    if subresource:
        new = {key: value for key, value in old.items() if key != "status"} | {"status": new.get("status") or {}}
    elif kind.has_status:
        new = {key: value for key, value in new.items() if key != "status"}
        new |= {"status": old["status"]} if "status" in old else {}
    return new | {"metadata": metadata}


def _check_preconditions(kind: ResourceType, old: Object, requested: Object) -> None:
    for key in ("uid", "resourceVersion"):
        if requested.get(key) not in (None, old["metadata"][key]):
            name = "UID" if key == "uid" else "ResourceVersion"
            found = f"{name} in precondition: {requested[key]}, {name} in object meta: {old['metadata'][key]}"
            raise conflict(kind.plural, kind.group, old["metadata"]["name"], f"Precondition failed: {found}")


def _grace(kind: ResourceType, old: Object, options: Object) -> int:
    """Return the grace period of a deletion in seconds.

    It is 0 unless the object is a pod that is assigned to a node and has not ended.
    """
    if kind.key != "pods":
        return 0
    if not old["spec"].get("nodeName") or old.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    requested = options.get("gracePeriodSeconds")
    seconds = old["spec"].get("terminationGracePeriodSeconds", 30) if requested is None else int(requested)
    before = old["metadata"].get("deletionGracePeriodSeconds")
    return seconds if before is None else min(seconds, before)


def _marked(kind: ResourceType, old: Object, seconds: int, options: Object) -> Object:
    metadata = dict(old["metadata"])
    policy = options.get("propagationPolicy")
    finalizer = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}.get(policy or "")
    if finalizer and finalizer not in metadata.get("finalizers", []):
        metadata["finalizers"] = [*metadata.get("finalizers", []), finalizer]
    if metadata.get("deletionTimestamp") is None or seconds < metadata.get("deletionGracePeriodSeconds", 0):
        when = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
        metadata["deletionTimestamp"] = when.strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata["deletionGracePeriodSeconds"] = seconds
    new = old | {"metadata": metadata}
    if kind.key == "namespaces":
        new["status"] = {"phase": "Terminating"}
    return new


def _is_held(kind: ResourceType, obj: Object) -> bool:
    metadata = obj["metadata"]
    if kind.key == "namespaces" and obj.get("spec", {}).get("finalizers"):
        return True
    return bool(metadata.get("finalizers")) or metadata.get("deletionGracePeriodSeconds", 0) > 0
