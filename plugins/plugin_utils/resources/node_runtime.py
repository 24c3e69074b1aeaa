# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check that a node that joined a cluster keeps its container runtime."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine.changes import ObservationError, objects, only
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows import command_line, node_paths
from ..windows.registry_keys import KUBELET_SERVICE
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Call, Json, Results

ENDPOINTS: t.Mapping[str, str] = {
    "containerd": node_paths.CONTAINERD_PIPE,
    "docker": node_paths.CRI_DOCKERD_PIPE,
}
"""The CRI endpoint of each runtime. Source: kubernetes.io, "Installing kubeadm", "Path to Windows named pipe"."""
_FLAG = "container-runtime-endpoint"
_SETTING = re.compile(r"^\s*containerRuntimeEndpoint:\s*[\"']?([^\s\"'#]+)", re.MULTILINE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeRuntime(Resource):
    """The container runtime of the node's kubelet. This resource only checks that a joined node keeps its runtime.

    Pods, container images and the network belong to one runtime and cannot be moved to the other. A switch would remove
    them immediately, without a drain. The runtime of a machine that has not joined a cluster, or that was reset, can
    be switched.
    """

    type: t.ClassVar[str] = "NodeRuntime"
    name: t.Literal["containerd", "docker"] = dataclasses.field(
        metadata={"help": "The node's container runtime. `docker` means Docker's engine from any publisher."}
    )

    def observe(self) -> tuple[Call, ...]:
        paths: list[Json] = [node_paths.KUBELET_CONF]
        settings: list[Json] = [node_paths.KUBELET_DROPIN, node_paths.KUBELET_CONFIG]
        return (
            query("joined", "@read-file", {"paths": paths}, select=("path", "exists")),
            query("settings", "@read-file", {"paths": settings, "content": True}, select=("path", "content")),
            query(
                "service",
                "@read-registry",
                {"values": [{"path": KUBELET_SERVICE, "name": "ImagePath"}]},
                select=("exists", "value"),
            ),
        )

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        """Check the runtime, and return None, because this resource never changes anything.

        Raises:
            ResourceError: the node joined with a different runtime.
        """
        if not only(self, seen, "joined").get("exists"):
            return None
        endpoint = self._endpoint(seen)
        current = next((name for name, known in ENDPOINTS.items() if known == endpoint.lower()), None)
        if current in (None, self.name):
            return None
        raise ResourceError(
            self.title,
            self.name,
            f"expected {current}, which this node already uses in its cluster",
            "Drain the node, remove it from the cluster (kubeadm reset) and run again, or set container_runtime to "
            f"{current} for this node.",
        )

    def _endpoint(self, seen: Results) -> str:
        """Return the CRI endpoint that the kubelet uses.

        A flag overrides the drop-in configuration file, which overrides the main configuration file. The default is
        containerd's pipe. Source: the defaults for Windows in kubernetes, cmd/kubelet/app/options.
        """
        line = str(only(self, seen, "service").get("value") or "")
        for word in reversed(command_line.split(line)):
            name, equals, value = word.lstrip("-").partition("=")
            if name == _FLAG and equals:
                return value
        contents = {str(item.get("path")).lower(): str(item.get("content") or "") for item in self._files(seen)}
        for path in (node_paths.KUBELET_DROPIN, node_paths.KUBELET_CONFIG):
            match = _SETTING.search(contents.get(path.lower(), ""))
            if match:
                return match[1]
        return ENDPOINTS["containerd"]

    def _files(self, seen: Results) -> tuple[t.Mapping[str, t.Any], ...]:
        items = objects(self, seen, "settings")
        if not items:
            raise ObservationError(self.title, "settings", "the node returned no object")
        return items
