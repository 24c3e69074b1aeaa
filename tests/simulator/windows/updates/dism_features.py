# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The options /Enable-Feature and /Disable-Feature of dism.exe /Online.

Unlike Install-WindowsFeature, DISM does not check whether the processor supports Hyper-V. Source:
https://learn.microsoft.com/windows-hardware/manufacture/desktop/enable-or-disable-windows-features-using-dism
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.power import CBS_PENDING
from simulator.windows.software import features
from simulator.windows.software.appx import OPTIONAL
from simulator.windows.software.feature_list import Feature

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

UNKNOWN_FEATURE, PARENT_DISABLED = 0x800F080C, 0x800F080D
# DISM's names for the two parts of Hyper-V, which Server Manager lacks, with the feature that contains them.
_PARTS = {"microsoft-hyper-v-online": "hyper-v", "microsoft-hyper-v-offline": "hyper-v"}


@dataclass
class DisabledParts:
    """The lower-case names of disabled parts of features, such as `microsoft-hyper-v-online` of Hyper-V."""

    names: set[str] = field(default_factory=set)


def change(machine: Machine, name: str, *, enable: bool, parents: bool) -> tuple[int, bool]:
    """Enable or disable a feature.

    Args:
        parents: whether to also enable the features that contain this one, as /All does.

    Returns:
        An HRESULT (0 for success), and whether a restart is needed.
    """
    lower = name.casefold()
    if lower in _PARTS:
        return _part(machine, lower, enable=enable)
    own = next((value for key, value in OPTIONAL.items() if key.casefold() == lower), None)
    feature = features.catalogue(machine).get((own or "").casefold())
    if feature is None:
        return UNKNOWN_FEATURE, False
    key = feature.name.casefold()
    present = features.install_state(machine, feature) in ("Installed", "InstallPending")
    if present == enable:
        return 0, False
    changed = [feature]
    if enable:
        above = _disabled_above(machine, feature)
        if above and not parents:
            return PARENT_DISABLED, False
        changed += above
        machine.part(DisabledParts).names -= {part for part, whole in _PARTS.items() if whole == key}
    for one in changed:
        features.mark(machine, one, install=enable)
    restart = any(one.restart for one in changed)
    if restart:
        machine.registry.create_key(CBS_PENDING, volatile=True)
    return 0, restart


def _disabled_above(machine: Machine, feature: Feature) -> list[Feature]:
    """Return the disabled features that contain a feature, nearest first. Stop at the first enabled feature."""
    found: list[Feature] = []
    while feature.parent:
        feature = features.catalogue(machine)[feature.parent.casefold()]
        if features.install_state(machine, feature) in ("Installed", "InstallPending"):
            break
        found.append(feature)
    return found


def _part(machine: Machine, name: str, *, enable: bool) -> tuple[int, bool]:
    whole = features.catalogue(machine)[_PARTS[name]]
    disabled = machine.part(DisabledParts).names
    if features.install_state(machine, whole) not in ("Installed", "InstallPending"):
        return (PARENT_DISABLED, False) if enable else (0, False)
    if enable == (name not in disabled):
        return 0, False
    (disabled.discard if enable else disabled.add)(name)
    machine.registry.create_key(CBS_PENDING, volatile=True)
    return 0, True
