# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Send requests to the Kubernetes API and return plain JSON, for the modules that work with a cluster.

The official Python client sends the requests. Its typed models are not used, because importing them takes time.
The docstring of `cluster_auth` explains why the client of the kubernetes.core collection is not used.
"""

from __future__ import annotations

import contextlib
import json
import traceback
import typing as t
import urllib.parse
from http import HTTPStatus

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from .api_error import ApiError, refusal
from .api_forms import ANYTHING, VERSION, Form, list_of, problem
from .cluster_auth import AUTH_OPTIONS, AuthError, account, anonymous, configure, headers, hidden_values, read_options
from .redaction.urls import redact_users

try:
    from kubernetes import client, dynamic
    from kubernetes.client.exceptions import ApiException
    from kubernetes.client.rest import should_bypass_proxies
    from urllib3.exceptions import HTTPError, MaxRetryError, ProxyError
except ImportError:
    HAS_KUBERNETES = False
    IMPORT_ERROR = traceback.format_exc()
else:
    HAS_KUBERNETES = True
    IMPORT_ERROR = ""

_NODES: t.Mapping[str, t.Any] = {"nodes": {"type": "list", "elements": "str", "required": True}}

REQUEST_TIMEOUT = 30
"""Time limit of a request to the API server, in seconds."""
_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
"""Content type of requests for server-side apply. The body may be JSON, because JSON is valid YAML.

Source: kubernetes.io, Server-Side Apply.
"""
MERGE_PATCH = "application/merge-patch+json"
"""Content type of a JSON merge patch. Objects of all kinds accept such a patch, including custom resources."""

Object = dict[str, t.Any]


def cluster_arguments(*, of_nodes: bool = False, **own: t.Any) -> dict[str, t.Any]:
    """Return the argument spec of a module that sends requests to a cluster.

    The `cluster_options` documentation fragment describes the shared options.

    Args:
        of_nodes: whether the module has the option `nodes` (documentation fragment `cluster_options.nodes`).
        own: the other options of the module, with their specs.
    """
    return {**AUTH_OPTIONS, **(_NODES if of_nodes else {}), **own}


class Cluster:
    """A client of the cluster that a module's options describe.

    The methods take the path of a request in parts. The first part, such as `api/v1/nodes`, is used as it is. All later
    parts, such as names of objects, are percent-encoded.
    """

    def __init__(self, module: AnsibleModule) -> None:
        if not HAS_KUBERNETES:
            module.fail_json(msg=missing_required_lib("kubernetes"), exception=IMPORT_ERROR)
        self._module = module
        try:
            options = read_options(module.params)
            module.no_log_values = hidden_values(module.no_log_values, module.params, options)
            self.configuration = configure(options)
        except AuthError as error:
            module.fail_json(msg=str(error))
        api_client = client.ApiClient(self.configuration)
        for name, value in headers(options).items():
            api_client.set_default_header(name, value)
        self._client = dynamic.DynamicClient(api_client, discoverer=_discover_nothing)
        self.server = redact_users(str(self.configuration.host))
        self.account = account(options)
        """Description of the account that sends the requests, for messages."""

    def ask(
        self,
        method: str,
        *path: str,
        body: t.Mapping[str, t.Any] | None = None,
        query: t.Mapping[str, str] | None = None,
        form: Form = ANYTHING,
        content_type: str = "",
    ) -> Object:
        """Send a request. A PATCH request is a strategic merge patch by default.

        Args:
            method: the HTTP method.
            path: the parts of the path.
            body: the JSON body.
            query: the query parameters.
            form: the expected form of the response (see `api_forms`).
            content_type: content type of the body. If it is empty, the default for the method is used.

        Returns:
            The parsed body of the response.

        Raises:
            ApiError: the API server rejected the request, could not be reached, or sent an invalid response, or a part
                of the path is empty, `.` or `..`.
        """
        content_type = content_type or (_PATCH if method == "PATCH" else "application/json")
        try:
            answer = self._client.request(
                method,
                _join(path),
                body=body,
                query_params=list((query or {}).items()),
                content_type=content_type,
                serialize=False,
                _request_timeout=REQUEST_TIMEOUT,
            ).data
        except ApiException as error:
            # A TLS failure has no status.
            if not error.status:
                raise self._not_reached(str(error.reason).replace("\n", ": ")) from error
            if error.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
                raise self._not_reached(f"{error.status} {error.reason}") from error
            raise refusal(error.status, error.reason, error.body) from error
        except HTTPError as error:
            raise self._not_reached(_cause(error)) from error
        return self._read(answer, form, method, path)

    def items(self, *path: str, form: Form, query: t.Mapping[str, str] | None = None) -> list[Object]:
        """Return the objects in a list that the API server returns.

        Args:
            path: the parts of the path.
            form: the expected form of each object.
            query: the query parameters.

        Raises:
            ApiError: the request failed (see `ask`).
        """
        return self.ask("GET", *path, query=query, form=list_of(form)).get("items") or []

    def lookup(self, *path: str, form: Form) -> Object | None:
        """Read an object.

        Args:
            path: the parts of the path.
            form: the expected form of the object.

        Returns:
            The object, or None if it does not exist.

        Raises:
            ApiError: the request failed (see `ask`).
        """
        try:
            return self.ask("GET", *path, form=form)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def is_public(self, *path: str) -> bool:
        """Return whether an object can be read without credentials.

        The result is False only if the API server rejects the request with the status 401 or 403.

        Args:
            path: the parts of the path.
        """
        try:
            with client.ApiClient(anonymous(self.configuration)) as api:
                bare = dynamic.DynamicClient(api, discoverer=_discover_nothing)
                bare.request("GET", _join(path), serialize=False, _request_timeout=REQUEST_TIMEOUT)
        except ApiException as error:
            return error.status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
        except HTTPError:
            return True
        return True

    def version(self) -> str:
        """Return the API server's version, such as `v1.37.1`."""
        return str(self.ask("GET", "version", form=VERSION)["gitVersion"])

    @contextlib.contextmanager
    def needed(self) -> t.Iterator[None]:
        """Return a context manager that fails the module with a message if a request in the `with` block fails."""
        try:
            yield
        except ApiError as error:
            self._module.fail_json(msg=f"a request to the API server {self.server} failed: {error.brief}")

    def _not_reached(self, why: str) -> ApiError:
        settings = self.configuration
        if settings.proxy and not should_bypass_proxies(settings.host, settings.no_proxy or ""):
            why = f"{why} (through the proxy {redact_users(settings.proxy)})"
        return ApiError(f"the API server {self.server} cannot be reached: {why}", brief=why)

    def _read(self, answer: str | bytes, form: Form, method: str, path: t.Sequence[str]) -> Object:
        try:
            parsed = json.loads(answer)
            why = problem(parsed, form)
        except (RecursionError, ValueError):
            why = "expected JSON, got a different format"
        if why:
            text = f"the response to {method} {_join(path)} cannot be used: {why}"
            # This status does not come from the server. It only marks that a retry would not help.
            raise ApiError(f"the API server {self.server}: {text}", 400, brief=text)
        return t.cast("Object", parsed)


def _discover_nothing(client: object, cache_file: object) -> None:
    """Do nothing. This replaces the client's API discovery, which would query the server and write a temporary file."""


def _cause(error: HTTPError) -> str:
    """Return why a request failed. If the connection to a proxy failed, the text contains only the proxy's error."""
    if isinstance(error, MaxRetryError) and isinstance(error.reason, ProxyError):
        return f"{error.reason.original_error}"
    return f"{type(error).__name__}: {error}"


def _join(path: t.Sequence[str]) -> str:
    """Return the path of a request.

    Raises:
        ApiError: a part is empty, `.` or `..`, so that the path would not refer to the intended object.
    """
    root, *parts = path
    for part in parts:
        if part in ("", ".", ".."):
            text = f"{root}: expected the name of an object, got {part!r}"
            raise ApiError(text, 400)
    return "/".join(["", root, *(urllib.parse.quote(part, safe="") for part in parts)])
