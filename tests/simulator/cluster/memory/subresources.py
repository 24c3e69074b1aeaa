# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Handle requests to the eviction, binding, token and scale subresources."""

from __future__ import annotations

import datetime

from . import budgets, clock
from .authentication import ServiceAccountTokens
from .errors import ApiErrorResponse, bad_request, conflict, invalid, method_not_allowed, wrong
from .objects import Objects
from .requests import ApiRequest, Response, Target
from .resources import Object, ResourceType, type_of

STATUS_WRITERS = ("status", "approval", "finalize")
_SUCCESS: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class Subresources:
    """The handler of the eviction, binding, token and scale subresources."""

    def __init__(self, objects: Objects, tokens: ServiceAccountTokens) -> None:
        self._objects = objects
        self._store = objects.store
        self._tokens = tokens

    def handle(self, kind: ResourceType, target: Target, request: ApiRequest) -> Response:
        """Handle a request to a subresource.

        Raises:
            ApiErrorResponse: the request is rejected, or the verb is not supported.
        """
        name = f"{target.resource}/{target.subresource}"
        if request.method == "POST" and name == "pods/eviction":
            return self._evict(kind, target, request)
        if request.method == "POST" and name == "pods/binding":
            return self._bind(kind, target, request)
        if request.method == "POST" and name == "serviceaccounts/token":
            return self._token(kind, target, request)
        if target.subresource == "scale" and request.method == "GET":
            return Response(200, scale_of(self._objects.read(kind, target.namespace, target.name)))
        raise method_not_allowed()

    def _evict(self, kind: ResourceType, target: Target, request: ApiRequest) -> Response:
        body = request.parse_object()
        named = body.get("metadata", {}).get("name")
        if named not in (None, "", target.name):
            raise bad_request("name in URL does not match name in Eviction object")
        options = body.get("deleteOptions") or {}
        with self._store.lock:
            pod = self._objects.read(kind, target.namespace, target.name)
            covering = [
                one
                for one in self._store.peek_all("poddisruptionbudgets", target.namespace)
                if budgets.covers(one, pod)
            ]
            status = budgets.charge(covering, pod)
            dry = request.dry_run or options.get("dryRun") == ["All"]
            if status is not None and not dry:
                budget = covering[0]["metadata"]
                charged = {"status": status}
                self._objects.update(
                    type_of("poddisruptionbudgets"),
                    budget["namespace"],
                    budget["name"],
                    lambda old: old | charged,
                    subresource="status",
                )
            self._objects.delete(kind, target.namespace, target.name, options, request.user, dry)
        return Response(201, _SUCCESS)

    def _bind(self, kind: ResourceType, target: Target, request: ApiRequest) -> Response:
        node = (request.parse_object().get("target") or {}).get("name")
        if not node:
            raise bad_request("target.name is required")
        bind_pod(self._objects, target.namespace, target.name, node)
        return Response(201, _SUCCESS)

    def _token(self, kind: ResourceType, target: Target, request: ApiRequest) -> Response:
        body = request.parse_object()
        spec = body.setdefault("spec", {})
        account = self._objects.read(kind, target.namespace, target.name)
        seconds = spec.get("expirationSeconds") or 3600
        if seconds < 600:
            cause = wrong("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
            raise invalid("TokenRequest", "authentication.k8s.io", "", [cause])
        reference = spec.get("boundObjectRef") or {}
        pod = {"name": reference["name"], "uid": reference["uid"]} if reference.get("kind") == "Pod" else None
        token = self._tokens.issue(account, spec.get("audiences") or [], seconds, pod)
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
        status = {"token": token, "expirationTimestamp": end.strftime("%Y-%m-%dT%H:%M:%SZ")}
        identity = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
        metadata = {"name": target.name, "namespace": target.namespace, "creationTimestamp": clock.now()}
        spec["expirationSeconds"] = seconds
        return Response(201, identity | {"metadata": metadata, "spec": spec, "status": status})


def bind_pod(objects: Objects, namespace: str, name: str, node: str) -> None:
    """Assign a pod to a node as the scheduler does.

    Raises:
        ApiErrorResponse: the pod does not exist (404), or is already assigned or being deleted (409).
    """
    store = objects.store
    with store.lock:
        pod = store.get("pods", namespace, name)
        if pod is None:
            raise ApiErrorResponse(404, "NotFound", f'pods "{name}" not found', {"name": name, "kind": "pods"})
        if pod["metadata"].get("deletionTimestamp") or pod["spec"].get("nodeName"):
            why = f'pod {name} is already assigned to node "{pod["spec"].get("nodeName", "")}"'
            raise conflict("pods/binding", "", name, why)
        pod["spec"]["nodeName"] = node
        scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": clock.now()}
        others = [one for one in pod["status"].get("conditions") or [] if one["type"] != "PodScheduled"]
        pod["status"]["conditions"] = [*others, scheduled]
        store.put("pods", pod)


def scale_of(obj: Object) -> Object:
    """Return the Scale object of a workload such as a Deployment."""
    metadata = {
        key: obj["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    }
    labels = (obj["spec"].get("selector") or {}).get("matchLabels") or {}
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": obj["spec"].get("replicas", 0)},
        "status": {"replicas": obj.get("status", {}).get("replicas", 0), "selector": selector},
    }


def scaled_object(live: Object, scale: Object) -> Object:
    """Return a copy of a workload in which the number of replicas comes from a Scale object."""
    return live | {"spec": live["spec"] | {"replicas": int(scale.get("spec", {}).get("replicas", 0))}}
