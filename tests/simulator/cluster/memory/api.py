# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Handle the requests of authenticated users: authorize them, and then serve the requested resource or document."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from . import clock
from .apply import server_side_apply
from .authentication import Authenticator, ServiceAccountTokens
from .authorization import Authorizer
from .errors import forbidden, invalid, method_not_allowed, required, unsupported_media_type
from .json_patches import json_patch, merge_patch
from .objects import Objects
from .requests import ApiRequest, Response, Target, read_target
from .resources import Object, ResourceType, api_group, api_groups, api_resources, api_versions, type_of
from .reviews import Reviews
from .store import ObjectStore
from .strategic import strategic_merge
from .subresources import STATUS_WRITERS, Subresources, scale_of, scaled_object
from .watches import ObjectSelection, list_objects, watch_objects

_APPLY = ("application/apply-patch+yaml", "application/apply-patch+json")
_PATCHES: dict[str, Callable[[Any, Any], Any]] = {
    "application/json-patch+json": json_patch,
    "application/merge-patch+json": merge_patch,
    "application/strategic-merge-patch+json": strategic_merge,
}
_HEALTH = ("/healthz", "/livez", "/readyz")


class ClusterApi:
    """The API of one cluster."""

    def __init__(
        self, store: ObjectStore, tokens: ServiceAccountTokens, version: str, server: str, service_network: str
    ) -> None:
        """Create the API for a store.

        Args:
            store: the store of the cluster's objects.
            tokens: the issuer of service account tokens.
            version: the Kubernetes version, such as "1.37.1".
            server: the server's address as HOST:PORT.
            service_network: the CIDR of service addresses.
        """
        self.store = store
        self.objects = Objects(store, ipaddress.IPv4Network(service_network))
        self.authenticator = Authenticator(store, tokens)
        self._authorizer = Authorizer(store)
        self._subresources = Subresources(self.objects, tokens)
        self._reviews = Reviews(self.authenticator, self._authorizer)
        self._version = version
        self._server = server

    def handle(self, request: ApiRequest) -> Response:
        """Handle a request from an authenticated user.

        Raises:
            ApiErrorResponse: the API server refuses the request.
        """
        target = read_target(request.method, request.path, request.query)
        self._authorizer.require(request.user, target)
        if not target.resource:
            return self._document(target)
        kind = self.store.find_type(target.group, target.version, target.resource)
        if kind is None or (target.subresource and target.subresource not in kind.subresources):
            return Response(404, "404 page not found\n")
        if target.verb not in kind.verbs and not target.subresource:
            raise method_not_allowed()
        if kind.verbs == ("create",):
            return self._reviews.answer(kind, request)
        if target.subresource == "approval" and request.method != "GET":
            self._admit_approval(target, request)
        if target.subresource in STATUS_WRITERS and request.method in ("GET", "PUT", "PATCH"):
            return self._object(kind, target, request)
        if target.subresource == "scale" and request.method in ("PUT", "PATCH"):
            return self._scale(kind, target, request)
        if target.subresource:
            return self._subresources.handle(kind, target, request)
        return self._object(kind, target, request)

    def _admit_approval(self, target: Target, request: ApiRequest) -> None:
        """Check that the user may approve CSRs for this CSR's signer (plugin/pkg/admission/certificates/approval)."""
        found = self.objects.read(type_of("certificatesigningrequests"), "", target.name)
        signer = found["spec"]["signerName"]
        for name in (signer, f"{signer.partition('/')[0]}/*"):
            asked = Target("approve", "", target.group, target.version, "signers", name=name)
            if self._authorizer.decide(request.user, asked)[0]:
                return
        why = f'user not permitted to approve requests with signerName "{signer}"'
        raise forbidden(target.resource, target.group, target.name, why)

    def _document(self, target: Target) -> Response:
        path = target.path.rstrip("/") or "/"
        parts = path.split("/")[1:]
        if path in _HEALTH or path.startswith(tuple(f"{one}/" for one in _HEALTH)):
            return Response(200, "ok")
        found: Object | None = None
        if path == "/version":
            found = self._version_document()
        elif path == "/api":
            found = api_versions(self._server)
        elif path == "/apis":
            found = api_groups(self.store.types())
        elif parts[0] == "api" and len(parts) == 2:
            found = api_resources(self.store.types(), "", parts[1])
        elif parts[0] == "apis" and len(parts) == 2:
            found = api_group(self.store.types(), parts[1])
        elif parts[0] == "apis" and len(parts) == 3:
            found = api_resources(self.store.types(), parts[1], parts[2])
        elif path == "/openapi/v3":
            found = {"paths": {}}
        elif path == "/openapi/v2":
            info = {"title": "Kubernetes", "version": f"v{self._version}"}
            found = {"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}
        return Response(404, "404 page not found\n") if found is None else Response(200, found)

    def _version_document(self) -> Object:
        major, minor = self._version.split(".")[:2]
        return {
            "major": major,
            "minor": minor,
            "gitVersion": f"v{self._version}",
            "gitCommit": "0000000000000000000000000000000000000000",
            "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "none",
            "compiler": "none",
            "platform": "linux/amd64",
        }

    def _object(self, kind: ResourceType, target: Target, request: ApiRequest) -> Response:
        if target.verb in ("list", "watch", "deletecollection"):
            return self._collection(kind, target, request)
        where = (kind, target.namespace if kind.namespaced else "", target.name)
        if target.verb == "get":
            return Response(200, self.objects.read(*where))
        if target.verb == "create":
            created = self.objects.create(*where[:2], request.parse_object(), request.user, request.dry_run)
            return Response(201, created)
        if target.verb == "update":
            sent = request.parse_object()
            obj, new = self.objects.replace(*where, sent, request.user, target.subresource, request.dry_run)
            return Response(201 if new else 200, obj)
        if target.verb == "patch":
            return self._patch(where, target.subresource, request)
        if target.verb == "delete":
            obj, gone = self.objects.delete(*where, _delete_options(request), request.user, request.dry_run)
            return Response(200, _deleted(kind, obj) if gone and kind.key != "pods" else obj)
        raise method_not_allowed()

    def _collection(self, kind: ResourceType, target: Target, request: ApiRequest) -> Response:
        namespace = target.namespace if kind.namespaced else ""
        selection = ObjectSelection(kind, namespace, target.name, request.query)
        if target.verb == "watch":
            return Response(200, watch_objects(self.store, kind, selection, request.query))
        found = list_objects(self.store, kind, selection)
        if target.verb == "deletecollection":
            for one in found["items"]:
                place = one["metadata"].get("namespace", ""), one["metadata"]["name"]
                self.objects.delete(kind, *place, _delete_options(request), request.user, request.dry_run)
        return Response(200, found)

    def _patch(self, where: tuple[ResourceType, str, str], subresource: str, request: ApiRequest) -> Response:
        kind, namespace, name = where
        media = request.content_type.split(";")[0].strip()
        patch = request.parse()
        if media in _APPLY:
            return self._apply(where, patch, subresource, request)
        accepted = [one for one in _PATCHES if not (kind.custom and "strategic" in one)]
        if media not in accepted:
            raise unsupported_media_type([*accepted, *_APPLY])
        change = _PATCHES[media]
        changed = self.objects.update(
            kind, namespace, name, lambda live: change(live, patch), request.user, subresource, request.dry_run
        )
        return Response(200, changed)

    def _apply(
        self, where: tuple[ResourceType, str, str], applied: Object, subresource: str, request: ApiRequest
    ) -> Response:
        kind, namespace, name = where
        manager = request.query.get("fieldManager")
        if not manager:
            raise invalid("PatchOptions", "meta.k8s.io", "", [required("fieldManager", "is required for apply patch")])
        force, now = request.flag("force"), clock.now()
        with self.store.lock:
            if self.store.peek(kind.key, namespace, name) is not None:
                changed = self.objects.update(
                    kind,
                    namespace,
                    name,
                    lambda live: server_side_apply(live, applied, manager, force, now),
                    request.user,
                    subresource,
                    request.dry_run,
                )
                return Response(200, changed)
            obj = server_side_apply(None, applied, manager, force, now)
            obj["metadata"].setdefault("name", name)
            return Response(201, self.objects.create(kind, namespace, obj, request.user, request.dry_run))

    def _scale(self, kind: ResourceType, target: Target, request: ApiRequest) -> Response:
        body, media = request.parse(), request.content_type.split(";")[0].strip()
        change = _PATCHES.get(media, merge_patch)

        def scaled(live: Object) -> Object:
            scale = change(scale_of(live), body) if request.method == "PATCH" else body
            return scaled_object(live, scale)

        changed = self.objects.update(kind, target.namespace, target.name, scaled, request.user, "", request.dry_run)
        return Response(200, scale_of(changed))


def _delete_options(request: ApiRequest) -> Object:
    options: Object = request.parse_object() if request.body else {}
    seconds, policy = request.query.get("gracePeriodSeconds"), request.query.get("propagationPolicy")
    options |= {"gracePeriodSeconds": int(seconds)} if seconds else {}
    return options | ({"propagationPolicy": policy} if policy else {})


def _deleted(kind: ResourceType, obj: Object) -> Object:
    details = {"name": obj["metadata"]["name"], "kind": kind.plural, "uid": obj["metadata"]["uid"]}
    details |= {"group": kind.group} if kind.group else {}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
