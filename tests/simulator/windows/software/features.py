# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Get-WindowsFeature, Install-WindowsFeature and Uninstall-WindowsFeature cmdlets, and the state of features.

Source of the results: https://learn.microsoft.com/powershell/module/servermanager/install-windowsfeature
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.objects import Bound, Cmdlet, CmdletError, Enumeration, PSObject, items
from simulator.machine.power import CBS_PENDING
from simulator.machine.wildcards import matches
from simulator.windows.software.feature_list import Feature, offered

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_NAMESPACE = "Microsoft.Windows.ServerManager.Commands"
_RESTART = "You must restart this server to finish the installation process."
_STATES = {"Available": 0, "Installed": 1, "InstallPending": 2, "UninstallPending": 3, "Removed": 5}
_EXIT_CODES = {"Success": 0, "NoChangeNeeded": 1003, "SuccessRestartRequired": 3010}

# Services that a feature adds when it takes effect. name: (display name, start type)
SERVICES_OF: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "Containers": {"vmcompute": ("Hyper-V Host Compute Service", 2), "hns": ("Host Network Service", 3)},
    "Hyper-V": {
        "vmcompute": ("Hyper-V Host Compute Service", 2),
        "vmms": ("Hyper-V Virtual Machine Management", 2),
        "hns": ("Host Network Service", 3),
    },
    "Web-Server": {"W3SVC": ("World Wide Web Publishing Service", 2)},
    "NFS-Client": {"NfsClnt": ("Client for NFS", 2)},
}


@dataclass
class FeatureState:
    """The lower-case names of a machine's installed features, and of those that the next boot installs or removes.

    `installed` is None until `state_of` is first called.
    """

    installed: set[str] | None = None
    pending_install: set[str] = field(default_factory=set)
    pending_removal: set[str] = field(default_factory=set)


def state_of(machine: Machine) -> FeatureState:
    """Return the state of the machine's features. The first call creates the state of a new server."""
    state = machine.part(FeatureState)
    if state.installed is None:
        state.installed = {name for name, feature in catalogue(machine).items() if feature.installed}
        requested = machine.settings.option("features", [])
        state.installed |= {str(name).casefold() for name in requested} if isinstance(requested, list) else set()
    return state


def catalogue(machine: Machine) -> dict[str, Feature]:
    """Return the features that the machine's version of Windows offers, keyed by lower-case name."""
    return offered(machine.windows.contract)


def is_installed(machine: Machine, name: str) -> bool:
    """Return whether a feature is installed and in effect."""
    state = state_of(machine)
    lower = name.casefold()
    return lower in (state.installed or ()) and lower not in state.pending_install


def install_state(machine: Machine, feature: Feature) -> str:
    """Return a feature's state: `Installed`, `Available`, `InstallPending`, `UninstallPending` or `Removed`."""
    state, name = state_of(machine), feature.name.casefold()
    if name in state.pending_install:
        return "InstallPending"
    if name in state.pending_removal:
        return "UninstallPending"
    if name in (state.installed or ()):
        return "Installed"
    removed = machine.settings.option("removed_features", [])
    return "Removed" if feature.removed or (isinstance(removed, list) and feature.name in removed) else "Available"


def _object(machine: Machine, feature: Feature) -> PSObject:
    known = catalogue(machine)
    depth, parent = 1, feature
    while parent.parent:
        parent = known[parent.parent.casefold()]
        depth += 1
    state = install_state(machine, feature)
    return PSObject(
        f"{_NAMESPACE}.Feature",
        {
            "Name": feature.name,
            "DisplayName": feature.display,
            "Description": f"{feature.display}.",
            "Installed": state in ("Installed", "UninstallPending"),
            "InstallState": Enumeration(state, _STATES[state], f"{_NAMESPACE}.InstallState"),
            "FeatureType": feature.kind,
            "Path": feature.display,
            "Depth": depth,
            "DependsOn": list(feature.needs),
            "Parent": feature.parent or None,
            "ServerComponentDescriptor": f"ServerComponent_{feature.name.replace('-', '_')}",
            "SubFeatures": [other.name for other in known.values() if other.parent == feature.name],
            "SystemService": list(SERVICES_OF.get(feature.name, {})),
            "Notification": [],
            "BestPracticesModelId": None,
            "EventQuery": None,
            "PostConfigurationNeeded": False,
        },
        text=feature.name,
    )


def get_windows_feature(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-WindowsFeature. As on Windows, a name without a match returns nothing."""
    patterns = [*bound.texts("Name"), *(str(item) for item in bound.pipeline)]
    for feature in catalogue(machine).values():
        if not patterns or any(matches(pattern, feature.name) for pattern in patterns):
            yield _object(machine, feature)


def _named(machine: Machine, bound: Bound) -> list[Feature]:
    known = catalogue(machine)
    names = [_name(item) for item in items(bound.get("Name")) + list(bound.pipeline)]
    for name in names:
        if name.casefold() not in known:
            raise CmdletError(
                "InvalidArgument",
                "NameDoesNotExist",
                "ArgumentNotValid: The role, role service, or feature name is not valid: "
                f"'{name}'. The name was not found.",
                "System.Exception",
            )
    return [known[name.casefold()] for name in names]


def _name(item: object) -> str:
    return str(item.get("Name")) if isinstance(item, PSObject) else str(item)


def _features_to_install(machine: Machine, bound: Bound) -> list[Feature]:
    """Return the features to install, with parents and dependencies first."""
    known = catalogue(machine)
    order: dict[str, Feature] = {}

    def add(feature: Feature) -> None:
        for name in (*([feature.parent] if feature.parent else []), *feature.needs):
            add(known[name.casefold()])
        order.setdefault(feature.name, feature)

    for feature in _named(machine, bound):
        add(feature)
        if bound.flag("IncludeManagementTools"):
            for tool in feature.tools:
                add(known[tool.casefold()])
        if bound.flag("IncludeAllSubFeature"):
            for sub in _below(known, feature):
                add(sub)
    return [feature for feature in order.values() if install_state(machine, feature) in ("Available", "Removed")]


def _below(known: Mapping[str, Feature], feature: Feature) -> list[Feature]:
    below = [other for other in known.values() if other.parent == feature.name]
    return [item for child in below for item in (child, *_below(known, child))]


def install_windows_feature(machine: Machine, bound: Bound) -> Iterable[object]:
    """Install features. Features that need a restart are pending until the next boot."""
    requested = _features_to_install(machine, bound)
    for feature in requested:
        if install_state(machine, feature) == "Removed" and not bound.get("Source"):
            raise _source_missing(feature)
        if feature.name == "Hyper-V" and machine.settings.option("virtualization", True) is False:
            raise CmdletError(
                "InvalidOperation",
                "DISMAPI_Error__Failed_Hyper_V",
                "A prerequisite check for the Hyper-V feature failed. 1. Hyper-V cannot be installed: "
                "The processor does not have required virtualization capabilities.",
                "System.Exception",
            )
    if bound.flag("WhatIf"):
        return [_result(requested, restart=any(feature.restart for feature in requested))]
    if requested:
        _work(machine, bound)
    for feature in requested:
        mark(machine, feature, install=True)
    return _finish(machine, bound, requested)


def mark(machine: Machine, feature: Feature, *, install: bool) -> None:
    """Install or remove a feature without its dependencies and children.

    If the feature needs a restart, the change takes effect at the next boot.
    """
    state, name = state_of(machine), feature.name.casefold()
    if install and feature.restart:
        state.pending_install.add(name)
    elif install:
        _take_effect(machine, feature)
    elif name in state.pending_install:
        state.pending_install.discard(name)
    elif feature.restart:
        state.pending_removal.add(name)
    else:
        _lose_effect(machine, feature)


def uninstall_windows_feature(machine: Machine, bound: Bound) -> Iterable[object]:
    """Remove features and their children. Features that need a restart are pending until the next boot."""
    known = catalogue(machine)
    named = _named(machine, bound)
    tools = [known[tool.casefold()] for feature in named for tool in feature.tools]
    asked = [*named, *(tools if bound.flag("IncludeManagementTools") else [])]
    every = {item.name: item for feature in asked for item in (feature, *_below(known, feature))}
    requested = [item for item in every.values() if install_state(machine, item) in ("Installed", "InstallPending")]
    if bound.flag("WhatIf"):
        return [_result(requested, restart=any(feature.restart for feature in requested))]
    if requested:
        _work(machine, bound)
    for feature in requested:
        mark(machine, feature, install=False)
    return _finish(machine, bound, requested)


def _work(machine: Machine, bound: Bound) -> None:
    """Wait as long as installing or removing features takes, or until the simulated process is stopped."""
    bound.stop.wait(machine.settings.feature_seconds)


def _finish(machine: Machine, bound: Bound, changed: list[Feature]) -> list[object]:
    restart = any(feature.restart for feature in changed)
    if restart:
        machine.registry.create_key(CBS_PENDING, volatile=True)
        if bound.flag("Restart"):
            machine.power.reboot(0, "Install-WindowsFeature -Restart")
        else:
            bound.warn(_RESTART)
    return [_result(changed, restart=restart)]


def _source_missing(feature: Feature) -> CmdletError:
    return CmdletError(
        "InvalidOperation",
        "DISMAPI_Error__Cbs_Download_Failure",
        "The request to add or remove features on the specified server failed. Installation of one or more roles, "
        f'role services, or features failed. The source files could not be found ({feature.name}). Use the "Source" '
        "option to specify the location of the files that are required to restore the feature. Error: 0x800f081f",
        "System.Exception",
    )


def _result(changed: list[Feature], *, restart: bool) -> PSObject:
    code = ("SuccessRestartRequired" if restart else "Success") if changed else "NoChangeNeeded"
    details = [
        PSObject(
            f"{_NAMESPACE}.FeatureResult",
            {
                "Id": position,
                "Name": feature.name,
                "DisplayName": feature.display,
                "Success": True,
                "RestartNeeded": feature.restart,
                "SkipReason": Enumeration("NotSkipped", 0),
                "Message": [],
            },
            text=feature.display,
        )
        for position, feature in enumerate(changed)
    ]
    return PSObject(
        f"{_NAMESPACE}.FeatureOperationResult",
        {
            "Success": True,
            "RestartNeeded": Enumeration("Yes" if restart else "No", int(restart), f"{_NAMESPACE}.RestartState"),
            "FeatureResult": details,
            "ExitCode": Enumeration(code, _EXIT_CODES[code], f"{_NAMESPACE}.FeatureOperationExitCode"),
        },
    )


def _take_effect(machine: Machine, feature: Feature) -> None:
    (state_of(machine).installed or set()).add(feature.name.casefold())
    for name, (display, start) in SERVICES_OF.get(feature.name, {}).items():
        if not machine.services.exists(name):
            image = r"%systemroot%\system32\svchost.exe -k NetSvcs -p"
            machine.services.create(name, image, DisplayName=display, Start=start, Type=0x20)


def _lose_effect(machine: Machine, feature: Feature) -> None:
    installed = state_of(machine).installed or set()
    installed.discard(feature.name.casefold())
    kept = {name for other, names in SERVICES_OF.items() if other.casefold() in installed for name in names}
    for name in SERVICES_OF.get(feature.name, {}):
        if name not in kept and machine.services.exists(name):
            machine.services.delete(name)


def on_boot(machine: Machine) -> None:
    """Complete the pending installations and removals of features.

    When Hyper-V takes effect, its switch takes over the network adapter, so the link is down for a few seconds.
    """
    state, known = state_of(machine), catalogue(machine)
    new, gone = state.pending_install, state.pending_removal
    state.pending_install, state.pending_removal = set(), set()
    for name in sorted(new):
        _take_effect(machine, known[name])
    for name in sorted(gone):
        _lose_effect(machine, known[name])
    if "hyper-v" in new:
        seconds = machine.settings.option("hyperv_link_drop_seconds", 2.0)
        timer = threading.Timer(0.5, machine.network.drop_link, [seconds])
        timer.daemon = True
        timer.start()


def _create_baseline(machine: Machine) -> None:
    """Create the services of the features that the machine has from the start."""
    for name in sorted(state_of(machine).installed or ()):
        if name in catalogue(machine):
            _take_effect(machine, catalogue(machine)[name])


def _status(machine: Machine) -> object:
    states = {feature.name: install_state(machine, feature) for feature in catalogue(machine).values()}
    return {name: state for name, state in states.items() if state not in ("Available", "Removed")}


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-WindowsFeature": get_windows_feature,
    "Install-WindowsFeature": install_windows_feature,
    "Uninstall-WindowsFeature": uninstall_windows_feature,
}
STATUS = {"features": _status}
BASELINE = _create_baseline
ON_BOOT = on_boot
