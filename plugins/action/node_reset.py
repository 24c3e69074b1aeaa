# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module node_reset: see plugins/modules/node_reset.yml."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.hns.cleanup import options as hns_options
from ..plugin_utils.hns.cleanup.plan import CleanupRequest
from ..plugin_utils.hns.facts.cni import CONF_DIRS
from ..plugin_utils.hns.facts.runtime import OTHERS
from ..plugin_utils.lifecycle.reset import Reset, ResetOptions
from ..plugin_utils.lifecycle.reset_plan import KubeadmReset
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.resources.load import load
from ..plugin_utils.windows.node_paths import CONTAINERD_PIPE

_POLL = 15
"""Seconds that the first poll waits for the result of a reset. Most resets end within this time and need only one poll.
Each poll is a remote command."""


class ActionModule(NodeAction):
    """Resets a machine to the state that it had before it joined a cluster."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "inspect": {"type": "bool", "default": False},
        "resources": {"type": "list", "elements": "dict", "required": True},
        "stopped_services": {"type": "list", "elements": "str", "required": True},
        "kubeadm": {"type": "str", "default": "C:\\k\\kubeadm.exe"},
        "cri_socket": {"type": "str", "default": CONTAINERD_PIPE},
        "containers": {"type": "str", "choices": ["kubernetes", "all"], "default": "kubernetes"},
        "cni_conf_dir": {"type": "str", "default": CONF_DIRS[0]},
        "containerd_namespaces": {"type": "list", "elements": "str", "default": list(OTHERS)},
        "allow_reboot": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": 1800},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        node, check_mode = session.node, bool(self._task.check_mode)
        reconnect = max(options["timeout"], options["reconnect_timeout"])
        node.timeouts = dataclasses.replace(node.timeouts, reconnect=reconnect, poll=_POLL, longest_poll=240)
        only_observe = check_mode or options["inspect"]
        resources = tuple(load(options["resources"]))
        work = Reset(session, resources, _reset_options(options), check_mode=only_observe)
        failure: dict[str, t.Any] = {}
        try:
            work.run()
        except NodeError as error:
            failure = {"failed": True, "msg": str(error)}
        except AnsibleConnectionFailure as error:
            failure = {"failed": False, "unreachable": True, "msg": str(error)}
        shown: t.Literal["plan", "done", "nothing"] = "plan" if check_mode else "nothing" if only_observe else "done"
        result = work.outcome.to_result(name=node.name, diff=bool(self._task.diff), shown=shown)
        return {**session.report(**result), **failure}


def _reset_options(options: t.Mapping[str, t.Any]) -> ResetOptions:
    defaults = {name: spec.get("default") for name, spec in hns_options.CLEANUP_OPTIONS.items()}
    folders = list(dict.fromkeys([options["cni_conf_dir"], *CONF_DIRS]))
    given = {name: options[name] for name in ("containerd_namespaces", "allow_reboot", "timeout")}
    hns = {**defaults, **given, "scope": "all", "cni_conf_dirs": folders}
    return ResetOptions(
        kubeadm=KubeadmReset(program=options["kubeadm"], cri_socket=options["cri_socket"], timeout=options["timeout"]),
        request=CleanupRequest(
            scope="all",
            containers="all" if options["containers"] == "all" else "pods",
            stays_stopped=tuple(options["stopped_services"]),
        ),
        hns=hns_options.cleanup_options(hns),
    )
