# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse a Kubernetes API request's method, path and query, as kube-apiserver's RequestInfo does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from .errors import bad_request
from .resources import Object

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get", "HEAD": "get"}


@dataclass(frozen=True)
class User:
    """The user who sends a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""

    @property
    def node(self) -> str:
        """The name of the node if the user is a node's kubelet, otherwise an empty string."""
        prefix = "system:node:"
        return self.name[len(prefix) :] if self.name.startswith(prefix) and "system:nodes" in self.groups else ""


@dataclass(frozen=True)
class ApiRequest:
    """One HTTP request from an authenticated user."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes
    content_type: str
    user: User

    def flag(self, name: str) -> bool:
        """Return whether a boolean query parameter is set to true."""
        return self.query.get(name, "") in ("1", "true", "True")

    @property
    def dry_run(self) -> bool:
        """Whether the request is a dry run, which must not store anything."""
        return self.query.get("dryRun", "") == "All"

    def parse(self) -> Any:
        """Parse the body as YAML if its content type says so, otherwise as JSON.

        Raises:
            ApiErrorResponse: the content is invalid (400).
        """
        try:
            return yaml.safe_load(self.body) if "yaml" in self.content_type else json.loads(self.body)
        except (ValueError, yaml.YAMLError) as error:
            raise bad_request(f"the object provided is unrecognized: {error}") from error

    def parse_object(self) -> Object:
        """Parse the body as a Kubernetes object.

        Raises:
            ApiErrorResponse: the body is not an object (400).
        """
        body = self.parse()
        if not isinstance(body, dict) or not isinstance(body.get("metadata", {}), dict):
            raise bad_request("the object provided is unrecognized (must be of type Object)")
        return body


@dataclass(frozen=True)
class Target:
    """The target of an API request. `resource` is empty if the path does not belong to a resource."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""


@dataclass(frozen=True)
class Response:
    """The response to an API request: an object, a string, or a stream of watch events."""

    code: int
    body: Object | str | Iterator[Object]


def read_target(method: str, path: str, query: Mapping[str, str]) -> Target:
    """Return the resource or path that an API request targets.

    Args:
        method: the HTTP method.
        path: the URL's path, without the query.
        query: the query parameters.
    """
    parts = [part for part in path.split("/") if part]
    verb = _VERBS.get(method, method.lower())
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Target(verb, path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    selector = query.get("fieldSelector", "")
    if not name and (found := re.search(r"(?:^|,)metadata\.name==?([^,]+)", selector)):
        named_by_selector = found[1]
    else:
        named_by_selector = ""
    if not name:
        watching = query.get("watch", "") in ("1", "true", "True")
        verb = {"get": "watch" if watching else "list", "delete": "deletecollection"}.get(verb, verb)
    return Target(verb, path, group, version, resource, subresource, namespace, name or named_by_selector, selector)
