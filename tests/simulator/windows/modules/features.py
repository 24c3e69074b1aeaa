# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulated win_feature module. It calls Install-WindowsFeature or Uninstall-WindowsFeature."""

from __future__ import annotations

from typing import Any

from simulator.machine import commands
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import CmdletError, NotModelled, PSObject, items
from simulator.machine.session import Session


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Install or remove Windows roles and features."""
    given = arguments.raw("name")
    if given is None:
        raise ArgumentError("Get-AnsibleParam: Missing required argument: name")
    names = [str(name).strip() for name in (given if isinstance(given, list) else str(given).split(","))]
    state = arguments.text("state", default="present")
    if state not in ("present", "absent"):
        raise ArgumentError(f"Get-AnsibleParam: Argument state needs to be one of present,absent but was {state}.")
    parameters: dict[str, object] = {
        "Name": names,
        "WhatIf": arguments.check_mode,
        "IncludeManagementTools": arguments.flag("include_management_tools"),
    }
    if state == "present":
        parameters["IncludeAllSubFeature"] = arguments.flag("include_sub_features")
        source = arguments.raw("source")
        if source:
            if not session.machine.files.exists(session.expand(str(source))):
                raise ArgumentError(f"Failed to find source path {source} for feature install")
            parameters["Source"] = [str(source)]
    try:
        cmdlet = "Install-WindowsFeature" if state == "present" else "Uninstall-WindowsFeature"
        output = commands.run(session.machine, cmdlet, parameters, stop=session.process.stop)
    except NotModelled:
        raise
    except CmdletError as error:
        what = "install" if state == "present" else "uninstall"
        raise ArgumentError(f"Failed to {what} Windows Feature: {error.message}") from None
    result = output.objects[0]
    assert isinstance(result, PSObject)
    return _answer(result)


def _answer(result: PSObject) -> dict[str, Any]:
    features = [item for item in items(result["FeatureResult"]) if isinstance(item, PSObject)]
    return {
        "changed": bool(features),
        "feature_result": [
            {
                "id": feature["Id"],
                "display_name": feature["DisplayName"],
                "message": [],
                "reboot_required": bool(feature["RestartNeeded"]),
                "skip_reason": str(feature["SkipReason"]),
                "success": bool(feature["Success"]),
            }
            for feature in features
        ],
        "success": bool(result["Success"]),
        "exitcode": str(result["ExitCode"]),
        "reboot_required": str(result["RestartNeeded"]) == "Yes",
        "failed": not result["Success"],
    }
