# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find the policies that restrict which programs and scripts run on a node, before anything is changed.

AppLocker: the registry value EnforcementMode below SrpV2 is 1 to enforce rules and 0 to audit. Source:
https://learn.microsoft.com/windows/security/application-security/application-control/
app-control-for-business/applocker/configure-an-applocker-policy-for-enforce-rules

App Control for Business (WDAC): UsermodeCodeIntegrityPolicyEnforcementStatus of Win32_DeviceGuard is 2 if a policy is
enforced and 1 if it is audited. Source:
https://learn.microsoft.com/windows/security/hardware-security/enable-virtualization-based-protection-of-code-integrity

Execution policies can be set by group policy. Source:
https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_group_policy_settings
"""

from __future__ import annotations

import re
import typing as t

from ..wire.calls import query
from ..wire.messages import Call, CallResult, Json

APPLOCKER, WDAC = "applocker", "wdac"
CHOICES = (APPLOCKER, WDAC)
"""Policies for which users can declare that they allow the programs that the collection installs."""
_REGISTRY, _DEVICE_GUARD = "node.policies", "node.device_guard"
_SCRIPTS = "HKLM:\\SOFTWARE\\Policies\\Microsoft\\Windows\\PowerShell"
_APPLOCKER = "HKLM:\\SOFTWARE\\Policies\\Microsoft\\Windows\\SrpV2"
_COLLECTIONS = ("Exe", "Dll", "Script")
_VALUES = (
    (_SCRIPTS, "EnableScripts"),
    (_SCRIPTS, "ExecutionPolicy"),
    *((f"{_APPLOCKER}\\{name}", "EnforcementMode") for name in _COLLECTIONS),
)
_ENFORCED = 2
_ALLOW = (
    "what the collection installs (by default in C:\\k, C:\\Program Files\\containerd, C:\\opt\\cni\\bin and "
    "C:\\opt\\flannel) and C:\\Windows\\winkube"
)
_SCRIPTS_NOTE = (
    "group policy sets PowerShell's execution policy to {}. The collection runs no script files, so it is not "
    "affected, unless kubernetes_node_kubelet_service is launcher: set it to native or nssm. Other scripts on the node "
    "are affected, such as Microsoft's SDN debug scripts: sign them"
)
_CONSTRAINED = (
    "PowerShell is in constrained language mode here, in which Ansible cannot run modules. AppLocker's script rules or "
    "App Control for Business (WDAC) cause it: let the account that Ansible uses run all scripts, or give the "
    "node a policy without script enforcement (option 11) while it is managed"
)
_REFUSED_SCRIPT = (
    "PowerShell's execution policy blocked a script: a group policy overrides the execution policy that "
    "Ansible sets. Set the group policy to RemoteSigned for these nodes"
)
_LANGUAGE = re.compile(r"supported only on core types in this language mode|ConstrainedLanguage", re.IGNORECASE)
_BLOCKED = re.compile(
    r"blocked by group policy|Application Control policy has blocked|your organization's Device Guard policy",
    re.IGNORECASE,
)
_UNSIGNED = re.compile(r"is not digitally signed|running scripts is disabled on this system", re.IGNORECASE)


def calls() -> tuple[Call, ...]:
    """Return the calls that read the policies. If a call fails, the policies that it reads are unknown."""
    values: list[Json] = [{"path": path, "name": name} for path, name in _VALUES]
    guard: dict[str, Json] = {
        "Namespace": "root/Microsoft/Windows/DeviceGuard",
        "ClassName": "Win32_DeviceGuard",
        "Property": ["UsermodeCodeIntegrityPolicyEnforcementStatus"],
    }
    select = ("UsermodeCodeIntegrityPolicyEnforcementStatus",)
    return (
        query(_REGISTRY, "@read-registry", {"values": values}),
        query(_DEVICE_GUARD, "Get-CimInstance", guard, select=select),
    )


def judged(results: t.Mapping[str, CallResult], allowed: t.Collection[str], node: str) -> tuple[list[str], str]:
    """Return the warnings about policies, and the reason why the run must not change anything.

    The reason is an empty string if the run may make changes.

    Args:
        results: results of `calls`, by id.
        allowed: the policies in CHOICES that, as the user has declared, allow the collection's programs.
        node: name of the node, for messages.
    """
    blocking = enforced(results, allowed)
    warnings = [f"{node}: {text}" for text in (*notes(results), *blocking)]
    return warnings, "\n".join(f"{node}: nothing was changed: {policy}" for policy in blocking)


def enforced(results: t.Mapping[str, CallResult], allowed: t.Collection[str] = ()) -> list[str]:
    """Return one sentence for each policy that may block the collection's programs. Each sentence names a remedy.

    Args:
        results: results of `calls`, by id.
        allowed: the policies in CHOICES that, as the user has declared, allow these programs.
    """
    policies = []
    rules = [name for name in _COLLECTIONS if _value(results, (f"{_APPLOCKER}\\{name}", "EnforcementMode")) == 1]
    if rules and APPLOCKER not in allowed:
        policies.append(f"AppLocker enforces its rules for {', '.join(rules)}: {_advice(APPLOCKER)}")
    if _guarded(results) == _ENFORCED and WDAC not in allowed:
        policies.append(f"App Control for Business (WDAC) is enforced: {_advice(WDAC)}")
    return policies


def notes(results: t.Mapping[str, CallResult]) -> list[str]:
    """Return a list with a note about a group policy that blocks scripts, or an empty list if there is none.

    Such a policy does not affect Ansible's modules, but it blocks other scripts, such as the kubelet launcher.
    """
    policy = str(_value(results, (_SCRIPTS, "ExecutionPolicy")) or "")
    if _value(results, (_SCRIPTS, "EnableScripts")) == 0:
        policy = "Restricted"
    if policy.lower() not in ("allsigned", "restricted"):
        return []
    return [_SCRIPTS_NOTE.format(policy)]


def explained(text: str) -> str:
    """Return the remedy if a code policy blocked the Ansible module itself, or an empty string for any other cause.

    Args:
        text: the output that the node returned instead of a result.
    """
    if _LANGUAGE.search(text):
        return _CONSTRAINED
    if _BLOCKED.search(text):
        return f"a policy of the node (AppLocker or App Control for Business) blocked a program: allow {_ALLOW}"
    return _REFUSED_SCRIPT if _UNSIGNED.search(text) else ""


def _advice(name: str) -> str:
    return f"allow {_ALLOW} there, then set allowed_code_policies: [{name}]"


def _value(results: t.Mapping[str, CallResult], key: tuple[str, str]) -> t.Any:
    result = results.get(_REGISTRY)
    if result is None or not result.ok or len(result.output) != len(_VALUES):
        return None
    answer = result.output[_VALUES.index(key)]
    return answer.get("value") if isinstance(answer, dict) else None


def _guarded(results: t.Mapping[str, CallResult]) -> object:
    result = results.get(_DEVICE_GUARD)
    first = result.first if result is not None and result.ok else None
    return first.get("UsermodeCodeIntegrityPolicyEnforcementStatus") if isinstance(first, dict) else None
