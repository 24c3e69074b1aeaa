# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the options that all modules that work on nodes share.

NODE_OPTIONS in plugin_utils/actions/node_action.py defines these options.
"""

from __future__ import annotations


class ModuleDocFragment:
    """The documentation fragment `winkube.node.node_options`."""

    DOCUMENTATION = r"""
options:
  reboot:
    description: Whether the module may reboot the node if a change requires a reboot.
    type: bool
    default: true
  reboot_timeout:
    description: Seconds to wait for the node to come back after a reboot.
    type: int
    default: 1800
  timeout:
    description: Seconds that one batch of changes may take on the node.
    type: int
    default: 3600
  reconnect_timeout:
    description: Seconds to keep trying to restore a lost connection.
    type: int
    default: 300
  allow_unsupported_windows:
    description: Whether to continue if the node's version of Windows is not supported.
    type: bool
    default: false
  allowed_code_policies:
    description:
      - Application control policies that you have already configured to allow the programs that this collection
        installs. V(applocker) is AppLocker, and V(wdac) is App Control for Business.
      - If the node enforces a policy that is not listed here, the module fails instead of making changes.
    type: list
    elements: str
    choices: [applocker, wdac]
    default: []
attributes:
  action_group:
    description: Use C(group/winkube.node.node) in C(module_defaults) to set options for all modules that work on nodes.
    support: full
    membership: [winkube.node.node]
"""
