# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a machine's clock and disk, and look for a pending reboot and disabled services (no I/O)."""

from __future__ import annotations

import typing as t

from .causes import FoundCause, finding
from .examination import Examination
from .kubelet_facts import KubeletFacts

_REBOOT_REASONS: t.Mapping[str, str] = {
    "servicing": "Component Based Servicing waits for a reboot",
    "update": "Windows Update waits for a reboot",
    "computer_name": "a new computer name waits for a reboot",
}
"""Maps values of `WindowsInfo.pending_reboot` to descriptions. Pending file renames are frequent, and are ignored."""
_EVICTION: t.Mapping[str, str] = {"nodefs.available": "10%", "imagefs.available": "15%"}
"""The kubelet's default eviction thresholds for disks on Windows.
Source: kubernetes, pkg/kubelet/eviction/defaults_windows.go."""
_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "": 1}
"""Maps each suffix of a Kubernetes quantity to its factor. Source: kubernetes.io, Quantity."""
_GIB = 2**30


def clock(node: Examination) -> t.Iterator[FoundCause]:
    """Check the difference between the node's clock and the controller's."""
    skew = node.first.clock_skew
    if skew is not None and node.clock_skew_limit and abs(skew) > node.clock_skew_limit:
        direction = "ahead of" if skew > 0 else "behind"
        yield finding(
            "clock_skew",
            f"the clock is {abs(skew):.0f} s {direction} the controller's; expected at most "
            f"{node.clock_skew_limit:.0f} s",
        )


def pending_reboot(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether a reboot of Windows is pending."""
    windows = node.first.windows
    reasons = [_REBOOT_REASONS[reason] for reason in windows.pending_reboot if reason in _REBOOT_REASONS]
    if "computer_name" in windows.pending_reboot:
        reasons.append(f"the computer name changes from {windows.active_computer_name} to {windows.computer_name}")
    if reasons:
        yield finding("pending_reboot", *reasons)


def disk(node: Examination) -> t.Iterator[FoundCause]:
    """Compare the free disk space with the kubelet's eviction thresholds."""
    space = node.first.machine.disk
    if space is None:
        return
    thresholds = eviction_thresholds(node.first.kubelet)
    for signal in _EVICTION:
        limit = threshold(thresholds.get(signal, ""), space.total)
        if limit is not None and space.free < limit:
            pressure = node.node.pressure.get("DiskPressure", "") if node.node else ""
            yield finding(
                "disk_full",
                f"C: has {space.free / _GIB:.1f} of {space.total / _GIB:.1f} GiB free, and the kubelet's threshold "
                f"{signal} is {thresholds[signal]}",
                f"the cluster reports DiskPressure: {pressure}" if pressure else "",
            )


def eviction_thresholds(kubelet: KubeletFacts) -> dict[str, str]:
    """Return the kubelet's hard eviction thresholds by signal.

    The defaults apply only if no threshold is configured, or if mergeDefaultEvictionSettings is set. The
    --eviction-hard flag takes precedence over the configuration. Source: kubernetes.io, Node-pressure Eviction, "Hard
    eviction thresholds".
    """
    configured = kubelet.settings.get("evictionHard")
    own = {str(key): str(value) for key, value in configured.items()} if isinstance(configured, dict) else {}
    pairs = (one.partition("<") for one in kubelet.command.flag("eviction-hard").split(","))
    own = {signal.strip(): text.strip() for signal, sign, text in pairs if sign} or own
    merges = bool(kubelet.settings.get("mergeDefaultEvictionSettings"))
    return {**_EVICTION, **own} if merges or not own else own


def threshold(text: str, total: int) -> float | None:
    """Return an eviction threshold in bytes, or None if it is malformed.

    Args:
        text: a percentage such as `10%`, or a quantity such as `5Gi`.
        total: size of the disk in bytes.
    """
    number, factor = text.strip(), 1.0
    if number.endswith("%"):
        number, factor = number[:-1], total / 100
    else:
        unit = next((one for one in _UNITS if one and number.endswith(one)), "")
        number, factor = number.removesuffix(unit), float(_UNITS[unit])
    try:
        return float(number) * factor
    except ValueError:
        return None


def disabled_services(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether a service that the node needs is disabled."""
    needed = ["kubelet", *node.runtime_services, "kube-proxy", "kubeproxy", "hns", "vmcompute"]
    for name in needed:
        service = node.first.machine.services.get(name)
        if service is not None and service.start_mode == "disabled":
            yield finding("service_disabled", f"the service {name} is disabled ({service.status.lower()})")
