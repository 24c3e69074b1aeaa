# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the options that hns_info and hns_cleanup share (plugin_utils/hns/cleanup/options.py)."""

from __future__ import annotations


class ModuleDocFragment:
    """The documentation fragment `winkube.node.hns_options`."""

    DOCUMENTATION = r"""
options:
  hns_timeout:
    description: Time limit for one call to HNS, in seconds. If a call exceeds it, HNS is considered unresponsive.
        For a call that removes many objects, the module raises the limit.
    type: float
    default: 60
  cni_conf_dirs:
    description: Folders on the node with CNI configurations. A network whose name is in one of these configurations
        is considered to have been created by a CNI plugin.
    type: list
    elements: str
    default:
      - C:\etc\cni\net.d
      - C:\k\azurecni\netconf
      - C:\k\cni\config
      - C:\k\cni\conf
  crictl:
    description: Name or path of the C(crictl) program on the node.
    type: str
    default: crictl.exe
  ctr:
    description: Name or path of the C(ctr) program on the node.
    type: str
    default: ctr.exe
  containerd_namespaces:
    description: >-
      Containerd namespaces whose containers the module lists, in addition to C(k8s.io). If containerd has a namespace
      that is not listed, the owners of HNS objects are unknown, and the module considers no object stale.
    type: list
    elements: str
    default: [default, moby, buildkit]
  docker:
    description: Name or path of the C(docker) program on the node.
    type: str
    default: docker.exe
"""
