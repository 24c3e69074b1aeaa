# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

from ansible_collections.winkube.node.plugins.plugin_utils import generalize, kubeadm
from ansible_collections.winkube.node.plugins.plugin_utils.calls import Observation


def test_windows_says_when_it_is_sealed_not_sysprep() -> None:
    calls = {call.id: call for call in generalize.generalize_calls(["C:\\Windows\\Temp\\*"], None, 1800)}
    assert calls["sealed"].until == {"value": generalize.SEALED}
    assert calls["sysprep"].arguments == ("/oobe", "/generalize", "/mode:vm", "/quiet", "/quit")
    assert calls["sysprep"].long


def test_a_machine_that_is_sealed_is_left_alone() -> None:
    order = [call.id for call in generalize.generalize_calls([], None, 60)]
    assert order.index("stop-if-sealed") < order.index("sysprep")


def test_the_azure_agent_is_waited_for_only_where_it_is() -> None:
    calls = {call.id: call for call in generalize.generalize_calls([], "C:\\unattend.xml", 60)}
    assert calls["agent-RdAgent"].on_error == "continue"
    assert calls["wait-RdAgent"].needs == ("agent-RdAgent",)
    assert calls["sysprep"].arguments[-1] == "/unattend:C:\\unattend.xml"


def test_an_image_holds_no_token_of_a_join_that_was_cut_off() -> None:
    calls = {call.id: call for call in generalize.generalize_calls([], None, 60)}
    removed = {str(call.parameters.get("Path")) for call in calls.values() if call.command == "Remove-Item"}
    assert set(kubeadm.LEFTOVERS) <= removed


def test_the_shutdown_is_ordered_before_winrm_is_closed() -> None:
    order = [call.id for call in generalize.shutdown_calls(reset_winrm=True, shutdown=True)]
    assert order == ["shutdown", "basic", "listener"]
    assert generalize.shutdown_calls(reset_winrm=False, shutdown=False) == ()


def test_sysprep_s_own_log_says_why_it_failed() -> None:
    logs = [{"content": ""}, {"content": "first\nPackage Contoso was installed for a user"}]
    seen = Observation.from_wire({"state": "finished", "calls": {"logs": {"ok": True, "output": logs}}})
    assert generalize.reason(seen).endswith("installed for a user")
    assert generalize.reason(seen, lines=1) == "Package Contoso was installed for a user"
