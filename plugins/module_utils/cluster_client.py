# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Kubernetes API for the modules that run on the controller, over the official Python client.

Private to the collection.
"""

from __future__ import annotations

import traceback
import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

try:
    from kubernetes import client, config
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError
except ImportError:
    HAS_KUBERNETES = False
    IMPORT_ERROR = traceback.format_exc()
else:
    HAS_KUBERNETES = True
    IMPORT_ERROR = ""

_ARGUMENTS: t.Mapping[str, t.Any] = {
    "kubeconfig": {"type": "path", "required": True},
    "context": {"type": "str"},
}
_NODES: t.Mapping[str, t.Any] = {"nodes": {"type": "list", "elements": "str", "required": True}}

REQUEST_TIMEOUT = 30
"""Seconds until a request to the API server is given up."""


def cluster_arguments(*, of_nodes: bool = False, **own: t.Any) -> dict[str, t.Any]:
    """The argument spec of a module of the cluster side (documentation fragment `cluster_options`).

    Parameters:
        of_nodes: whether it works on nodes that have to be named (`cluster_options.nodes`).
        own: its own options.
    """
    return {**_ARGUMENTS, **(_NODES if of_nodes else {}), **own}


class Cluster:
    """A cluster, reached by a kubeconfig."""

    def __init__(self, module: AnsibleModule) -> None:
        if not HAS_KUBERNETES:
            module.fail_json(msg=missing_required_lib("kubernetes"), exception=IMPORT_ERROR)
        self._module = module
        path = module.params["kubeconfig"]
        try:
            api_client = config.new_client_from_config(config_file=path, context=module.params.get("context"))
        except (config.ConfigException, OSError) as error:
            module.fail_json(msg=f"kubeconfig {path!r} cannot be used: {error}")
        self.api_client = api_client
        self.core = client.CoreV1Api(api_client)
        self.apps = client.AppsV1Api(api_client)
        self.server = str(api_client.configuration.host)

    def version(self) -> str:
        """The API server's version, such as `v1.37.1`."""
        return str(self.request(client.VersionApi(self.api_client).get_code).git_version)

    def request(self, function: t.Callable[..., t.Any], *args: t.Any, **kwargs: t.Any) -> t.Any:
        """Calls the API; ends the module with one clear message where it fails."""
        try:
            return function(*args, _request_timeout=REQUEST_TIMEOUT, **kwargs)
        except (ApiException, HTTPError) as error:
            return self._module.fail_json(
                msg=f"the API server {self.server} did not answer as needed: {describe(error)}"
            )

    def find(self, function: t.Callable[..., t.Any], *args: t.Any, **kwargs: t.Any) -> t.Any:
        """Calls the API; None where what was asked for does not exist."""
        try:
            return function(*args, _request_timeout=REQUEST_TIMEOUT, **kwargs)
        except ApiException as error:
            if error.status == 404:
                return None
            return self._module.fail_json(msg=f"the API server {self.server} refused: {describe(error)}")
        except HTTPError as error:
            return self._module.fail_json(msg=f"the API server {self.server} is not reached: {describe(error)}")


def describe(error: Exception) -> str:
    """One line of an API error; a refused request's body may quote what was sent, and so stays out."""
    if HAS_KUBERNETES and isinstance(error, ApiException):
        return f"{error.status} {error.reason}"
    return f"{type(error).__name__}: {error}"
