# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Enable only some of the collection's measures that save memory (plugin_utils/remote/memory.py)."""

from __future__ import annotations

import os

from ansible.plugins.callback import CallbackBase

from ansible_collections.winkube.node.plugins.plugin_utils.remote import memory

DOCUMENTATION = """
name: memory_measures
type: aggregate
short_description: Enables only some of the measures that save memory
description: The environment variable MEMORY_MEASURES names them, separated by commas.
requirements:
  - enabled in the configuration
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible ships no type information
    """Chooses the measures before Ansible loads the first action, which applies them."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "memory_measures"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        chosen = os.environ["MEMORY_MEASURES"].split(",")
        memory.MEASURES[:] = [measure for measure in memory.MEASURES if measure.__name__ in chosen]
