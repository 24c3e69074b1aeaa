# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows' own router, which is a part of Remote Access."""

from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import MISSING, NO_COMMAND, answer, failure, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.engine.disruption import disruption

FEATURES = ["RemoteAccess", "Routing"]
NO_ROUTER = failure("NotSpecified", "REMOTEACCESSERROR,Get-BgpRouter", "BGP is not configured.")


def router(**more: t.Any) -> t.Any:
    return one(type="RemoteAccessRouting", name="BGP", **more)


def access(routing: str = "Installed", **others: str) -> t.Any:
    unused = dict.fromkeys(("DAStatus", "VpnStatus", "VpnS2SStatus", "SstpProxyStatus"), "Uninstalled")
    return answer({"RoutingStatus": routing, **unused, **others})


def service(status: str = "Running", start: str = "Automatic") -> t.Any:
    return answer({"Status": status, "StartType": start})


def features(*installed: str) -> t.Any:
    return answer(*({"Name": name, "Installed": name in installed} for name in FEATURES))


def commands(change: t.Any) -> list[str]:
    return [call.command for call in change.calls]


def test_a_router_that_runs_needs_no_change() -> None:
    assert planned(router(), access=access(), service=service()) is None


@pytest.mark.parametrize("unknown", [NO_COMMAND, failure("ObjectNotFound", "x"), access("Uninstalled"), answer()])
def test_installing(unknown: t.Any) -> None:
    change = must(router(), access=unknown, service=service("Stopped", "Disabled"))
    assert commands(change) == ["Install-RemoteAccess", "Set-Service", "Start-Service"]
    assert change.calls[0].parameters["VpnType"] == "RoutingOnly"
    assert disruption(router(), change) == "changes the network"


@pytest.mark.parametrize("found", [service("Stopped"), service("Running", "Manual"), MISSING])
def test_the_service_runs_after_every_boot(found: t.Any) -> None:
    change = must(router(), access=access(), service=found)
    assert commands(change) == ["Set-Service", "Start-Service"]
    assert change.calls[0].parameters == {"Name": "RemoteAccess", "StartupType": "Automatic"}
    assert disruption(router(), change) == ""


@pytest.mark.parametrize("unknown", [NO_COMMAND, access("Uninstalled")])
def test_an_absent_router_needs_no_change(unknown: t.Any) -> None:
    assert planned(router(state="absent"), access=unknown, router=NO_ROUTER) is None
    gone = router(state="absent", features=FEATURES)
    assert planned(gone, access=unknown, router=NO_ROUTER, features=features()) is None


def test_removing_the_router_with_its_features() -> None:
    gone = router(state="absent", features=FEATURES)
    change = must(gone, access=access(), router=answer({"LocalASN": 64512}), features=features(*FEATURES))
    assert commands(change) == ["Remove-BgpRouter", "Uninstall-RemoteAccess", "Uninstall-WindowsFeature"]
    assert change.calls[2].parameters == {"Name": FEATURES}
    assert change.reboot == "if_reported"
    # Nothing asks for a confirmation.
    assert all(call.parameters["Force"] is True for call in change.calls[:2])


def test_what_an_interrupted_removal_left_is_removed() -> None:
    gone = router(state="absent", features=FEATURES)
    change = must(gone, access=access("Uninstalled"), router=NO_ROUTER, features=features("RemoteAccess"))
    assert commands(change) == ["Uninstall-WindowsFeature"]
    assert change.calls[0].parameters == {"Name": ["RemoteAccess"]}


@pytest.mark.parametrize(
    ("status", "title"),
    [("DAStatus", "DirectAccess"), ("VpnStatus", "VPN"), ("VpnS2SStatus", "site"), ("SstpProxyStatus", "SSTP")],
)
def test_other_technologies_of_remote_access_keep_working(status: str, title: str) -> None:
    gone = router(state="absent", features=FEATURES)
    shared = access(**{status: "Installed"})
    change = must(gone, access=shared, router=answer({"LocalASN": 64512}), features=features(*FEATURES))
    assert commands(change) == ["Remove-BgpRouter"]
    assert change.reboot == "never"
    assert title in change.warnings[0]
    assert planned(gone, access=shared, router=NO_ROUTER, features=features(*FEATURES)) is None
