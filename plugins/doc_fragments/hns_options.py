# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the options that hns_info and hns_cleanup share (plugin_utils/hns/cleanup/options.py)."""

from __future__ import annotations


class ModuleDocFragment:
    """The fragment `winkube.node.hns_options`."""

    DOCUMENTATION = r"""
options:
  hns_timeout:
    description: Seconds that HNS may take for one call. If a call takes longer, HNS is considered unresponsive. The
        limit for a removal grows with the number of objects.
    type: float
    default: 60
  cni_conf_dirs:
    description: Folders with CNI configurations. A network that one of these configurations names is considered to be
        created by a CNI plugin.
    type: list
    elements: str
    default:
      - C:\etc\cni\net.d
      - C:\k\azurecni\netconf
      - C:\k\cni\config
      - C:\k\cni\conf
  crictl:
    description: The program C(crictl) on the node, by name or path.
    type: str
    default: crictl.exe
  ctr:
    description: The program C(ctr) on the node, by name or path.
    type: str
    default: ctr.exe
  containerd_namespaces:
    description: >-
      Containerd namespaces whose containers are listed, in addition to those in C(k8s.io). If containerd has a
      namespace that is not named here, the owners of HNS objects are unknown, and no object is considered stale.
    type: list
    elements: str
    default: [default, moby, buildkit]
  docker:
    description: The program C(docker) on the node, by name or path.
    type: str
    default: docker.exe
"""
