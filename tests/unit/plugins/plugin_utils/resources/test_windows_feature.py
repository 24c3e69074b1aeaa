# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Roles and features of Windows Server."""

from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import MISSING, answer, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.resources.windows_feature import WindowsFeature
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError


def feature(**more: t.Any) -> t.Any:
    return one(type="WindowsFeature", name="Containers", **more)


def seen(state: str) -> t.Any:
    return answer({"Name": "Containers", "InstallState": state, "Installed": state == "Installed"})


@pytest.mark.parametrize(("state", "found"), [("present", "Installed"), ("absent", "Available"), ("absent", "Removed")])
def test_a_feature_in_the_requested_state_needs_no_change(state: str, found: str) -> None:
    assert planned(feature(state=state), feature=seen(found)) is None


@pytest.mark.parametrize("found", ["Available", "Removed", "UninstallPending"])
def test_installing(found: str) -> None:
    change = must(
        feature(include_management_tools=True, include_all_sub_features=True, source=["D:\\sxs"]), feature=seen(found)
    )
    assert change.reboot == "if_reported"
    (install,) = change.calls
    assert install.command == "Install-WindowsFeature"
    assert install.parameters == {
        "Name": ["Containers"],
        "IncludeManagementTools": True,
        "IncludeAllSubFeature": True,
        "Source": ["D:\\sxs"],
    }
    # The engine's barrier checks RestartNeeded.
    assert install.select == ("Success", "RestartNeeded", "ExitCode")
    assert install.until == {"Success": True}
    assert install.long


def test_removing() -> None:
    change = must(feature(state="absent", source=["D:\\sxs"]), feature=seen("Installed"))
    assert change.calls[0].command == "Uninstall-WindowsFeature"
    assert change.calls[0].parameters == {"Name": ["Containers"]}
    assert change.after["state"] == "absent"


@pytest.mark.parametrize(("state", "found"), [("present", "InstallPending"), ("absent", "UninstallPending")])
def test_a_feature_waiting_for_a_reboot_gets_one(state: str, found: str) -> None:
    change = must(feature(state=state), feature=seen(found))
    assert (change.calls, change.reboot) == ((), "always")


@pytest.mark.parametrize("nothing", [answer(), MISSING])
def test_a_feature_that_this_windows_does_not_have(nothing: t.Any) -> None:
    with pytest.raises(ResourceError, match="expected a feature of this version of Windows, got 'Containers'"):
        planned(feature(), feature=nothing)


def test_a_feature_that_works_only_after_a_reboot() -> None:
    assert must(feature(reboot="always"), feature=seen("Available")).reboot == "always"
    assert planned(feature(reboot="always"), feature=seen("Installed")) is None
    assert must(feature(reboot="always", state="absent"), feature=seen("Installed")).reboot == "if_reported"


@pytest.mark.parametrize("reboots", [("always", "if_reported"), ("if_reported", "always")])
def test_two_roles_that_need_a_feature(reboots: tuple[str, str]) -> None:
    (found,) = load([{"type": "WindowsFeature", "name": "Routing", "reboot": one} for one in reboots])
    assert isinstance(found, WindowsFeature)
    assert found.reboot == "always"
    contradiction = [{"type": "WindowsFeature", "name": "Routing", "state": state} for state in ("present", "absent")]
    with pytest.raises(ResourceError, match="expected a name that is unique"):
        load(contradiction)
