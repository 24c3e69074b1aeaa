#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Call services through their NodePorts on Windows nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: services_check
short_description: Call services through their NodePorts on Windows nodes
version_added: "0.1.0"
description:
  - Waits until all pods of each service's Deployment are available, and then requests C(/) over HTTP from the service's
    NodePort on each Windows node that is Ready. The task fails if a request does not get the status 200 in time.
  - Runs on the controller or a control plane host, never on a Windows node. Firewalls between that machine and the
    nodes must allow the requests, which use no proxy.
  - The Kubernetes account that the task uses needs permission to list nodes, and to read the Deployments and services.
options:
  namespace:
    description: Namespace of the services.
    type: str
    required: true
  services:
    description: Names of services of type C(NodePort). The Deployment of each service has the same name.
    type: list
    elements: str
    required: true
  timeout:
    description: Time limit in seconds for all calls to succeed.
    type: int
    default: 900
  call_timeout:
    description: Time limit in seconds for one call.
    type: int
    default: 5
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
attributes:
  check_mode:
    description: Calls nothing, because the services may not exist yet.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Call a web server on all Windows nodes
  winkube.node.services_check:
    kubeconfig: ~/.kube/config
    namespace: winkube-demo
    services: [win-webserver]
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
calls:
  description: The last call of each service through each node.
  type: list
  elements: dict
  returned: always
  contains:
    service:
      description: The service.
      type: str
    node:
      description: The node, or empty if the service could not be called.
      type: str
    url:
      description: The URL, or empty if the service could not be called.
      type: str
    problem:
      description: Why the call failed, or empty if it succeeded.
      type: str
"""

import http.client
import time
import typing as t
import urllib.error
import urllib.request

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.api_error import ApiError
from ..module_utils.api_forms import NODE, SERVICE
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.service_calls import CallTools, wait_for_calls

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ServicesApi:
    """The requests that the module sends to the API server."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self._namespace = cluster, namespace

    def nodes(self) -> list[dict[str, t.Any]]:
        """Return all nodes."""
        return self._cluster.items("api/v1/nodes", form=NODE)

    def service(self, name: str) -> dict[str, t.Any] | None:
        """Return a service, or None if it does not exist."""
        return self._cluster.lookup("api/v1/namespaces", self._namespace, "services", name, form=SERVICE)

    def deployment(self, name: str) -> dict[str, t.Any] | None:
        """Return a Deployment, or None if it does not exist."""
        return self._cluster.lookup("apis/apps/v1/namespaces", self._namespace, "deployments", name, form={})


def get(url: str, seconds: float) -> str:
    """Request a URL, and return why the request failed, or an empty string if the response has the status 200."""
    try:
        with _OPENER.open(url, timeout=seconds) as response:
            status = int(response.status)
            return "" if status == 200 else f"expected the status 200, got {status}"
    except urllib.error.HTTPError as error:
        return f"expected the status 200, got {error.code}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", error))


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            namespace={"type": "str", "required": True},
            services={"type": "list", "elements": "str", "required": True},
            timeout={"type": "int", "default": 900},
            call_timeout={"type": "int", "default": 5},
        ),
        supports_check_mode=True,
    )
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False, calls=[])
    api = ServicesApi(Cluster(module), params["namespace"])
    tools = CallTools(time.monotonic, time.sleep, lambda url: get(url, params["call_timeout"]))
    try:
        calls = wait_for_calls(api, params["services"], params["timeout"], tools)
    except ApiError as error:
        module.fail_json(msg=str(error), calls=[])
    rows = [one._asdict() for one in calls]
    failed = [f"- {one.service}{' at ' + one.url if one.url else ''}: {one.problem}" for one in calls if one.problem]
    if failed:
        lines = "\n".join(failed)
        why = f"after {params['timeout']} seconds, these services do not respond with the status 200:"
        module.fail_json(msg=f"{why}\n{lines}", calls=rows)
    module.exit_json(changed=False, calls=rows)


if __name__ == "__main__":
    main()
