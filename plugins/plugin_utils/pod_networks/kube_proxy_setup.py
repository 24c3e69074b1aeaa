# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""The part of the kube-proxy pod's batch file that writes kube-proxy's configuration.

On a node that no playbook has joined, nothing else writes this configuration. kubectl.exe, which is in the same folder
as kube-proxy.exe, reads the field of the Node object from which the source address on an overlay is computed.

cmd.exe computes with signed 32-bit integers; `>>` keeps the sign, which `&255` removes. Source: learn.microsoft.com,
the `set` command.
"""

from __future__ import annotations

import typing as t

from ..windows import node_paths
from .catalogue import Mode
from .node_batch import ACCESS, replaced

HEAD, TAIL, RESERVED = "config-head.yaml", "config-tail.yaml", "reservation"
"""Names of the files in the pod's volume. The first two contain the parts of kube-proxy's configuration before and
after the line with the node's name, and the third contains the text of the file that reserves the source address."""
_QUERIES: t.Mapping[str, tuple[str, str]] = {
    # The last usable address of the pod CIDR, as kube_proxy.source_vip.
    "host-local": ("{.spec.podCIDR}", "(ip|((1<<(32-length))-1))-1"),
    # The address after the published one, as kube_proxy.endpoint_address.
    "network-endpoint": ("{.metadata.annotations.projectcalico\\.org/IPv4VXLANTunnelAddr}", "ip+1"),
}
"""Maps each value of `source_vip` except `none` to a pair: the field of the Node object from which the source address
is computed, and the formula for the computation."""


def parts(configuration: str) -> tuple[str, str]:
    """Return kube-proxy's configuration before and after the line with the node's name, with Windows' line endings.

    Args:
        configuration: the configuration as YAML with sorted keys and an empty `hostnameOverride`.
    """
    head, _line, tail = configuration.partition("hostnameOverride: ''\n")
    return head.replace("\n", "\r\n"), tail.replace("\n", "\r\n")


def lines(mode: Mode, install_dir: str) -> list[str]:
    """Return the lines of the batch file that write kube-proxy's configuration.

    Args:
        mode: the network's mode.
        install_dir: folder of the Kubernetes programs on the nodes.
    """
    query = _QUERIES.get(mode.kube_proxy.source_vip) if mode.kube_proxy is not None else None
    return [
        *(_source_address(*query, install_dir) if query else []),
        *(_reservation(mode) if mode.kube_proxy is not None and mode.kube_proxy.source_vip == "host-local" else []),
        f"type {ACCESS}\\{HEAD} > config.new || exit /b 1",
        ">> config.new echo hostnameOverride: '%NODE_NAME%'",
        f"type {ACCESS}\\{TAIL} >> config.new || exit /b 1",
        *([">> config.new echo   sourceVip: %address%"] if query else []),
        *replaced("config.yaml", new="config.new", generated="generated.yaml", unfinished="unfinished"),
    ]


def _source_address(field: str, formula: str, install_dir: str) -> list[str]:
    """Return the lines of the batch file that set the variable `address` to kube-proxy's source address.

    They compute the address from a field of the Node object. If the object lacks this field, the container fails, and
    the kubelet starts the container again.
    """
    read = f'"{install_dir}\\kubectl.exe" --kubeconfig={ACCESS}\\kubeconfig.conf get node %NODE_NAME%'
    return [
        f'{read} -o "jsonpath={field}" > address.txt || exit /b 1',
        "set ip=",
        "set length=32",
        'for /f "tokens=1-5 delims=./" %%a in (address.txt) do (',
        '    set /a "ip=(%%a<<24)|(%%b<<16)|(%%c<<8)|%%d"',
        '    if not "%%e"=="" set length=%%e',
        ")",
        "del address.txt",
        "if not defined ip exit /b 1",
        f'set /a "ip={formula}"',
        'set /a "a=(ip>>24)&255"',
        'set /a "b=(ip>>16)&255"',
        'set /a "c=(ip>>8)&255"',
        'set /a "d=ip&255"',
        "set address=%a%.%b%.%c%.%d%",
    ]


def _reservation(mode: Mode) -> list[str]:
    """Return the lines of the batch file that reserve the source address in host-local."""
    folder = f"{node_paths.HOST_LOCAL_ADDRESSES}\\{mode.hns_network}"
    return [
        f"if not exist {folder} mkdir {folder}",
        f"copy /y {ACCESS}\\{RESERVED} {folder}\\%address% > nul || exit /b 1",
    ]
