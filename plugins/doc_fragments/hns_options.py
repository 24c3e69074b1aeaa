# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the options that hns_info and hns_cleanup share (plugin_utils/hns/cleanup/options.py)."""

from __future__ import annotations


class ModuleDocFragment:
    """The fragment `winkube.node.hns_options`."""

    DOCUMENTATION = r"""
options:
  hns_timeout:
    description: Seconds that HNS may take for one call. If it takes longer, HNS counts as hanging. A removal may take
      longer, depending on the number of objects.
    type: float
    default: 60
  cni_conf_dirs:
    description: Folders with CNI configurations. A network that one of these configurations names counts as created by
      a CNI.
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
      Namespaces of containerd, in addition to C(k8s.io), whose containers are listed. If containerd has a namespace
      that is not listed here, the owners of HNS objects are not known, and no object counts as stale.
    type: list
    elements: str
    default: [default, moby, buildkit]
  docker:
    description: The program C(docker) on the node, by name or path.
    type: str
    default: docker.exe
"""
