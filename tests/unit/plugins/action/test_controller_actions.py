# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Actions on the controller: warnings about certificates that expire, and about missing kubeconfigs."""

from __future__ import annotations

import datetime
import types
import typing as t
from pathlib import Path

import pytest

from ansible_collections.winkube.node.plugins.action import winrm_certificate_info
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.host_check import missing_kubeconfigs

NOW = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)
HTTPS = {"inventory_hostname": "win1", "ansible_host": "192.0.2.1", "ansible_connection": "psrp"}


class Frozen(datetime.datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
        assert tz is datetime.UTC
        return NOW


def info(
    monkeypatch: pytest.MonkeyPatch, left: datetime.timedelta | Exception, variables: dict[str, t.Any] | None = None
) -> dict[str, t.Any]:
    """Return the result for a listener whose certificate expires after this time."""

    def presented(host: str, port: int, *, seconds: float) -> types.SimpleNamespace:
        assert (host, port, seconds) == ("192.0.2.1", 5986, 5.0)
        if isinstance(left, Exception):
            raise left
        return types.SimpleNamespace(not_valid_after_utc=NOW + left)

    clock = types.SimpleNamespace(datetime=Frozen, timedelta=datetime.timedelta, UTC=datetime.UTC)
    monkeypatch.setattr(winrm_certificate_info, "datetime", clock)
    monkeypatch.setattr(winrm_certificate_info.tls, "presented", presented)
    task = types.SimpleNamespace(connection="ssh")
    action = types.SimpleNamespace(_task=task, _templar=types.SimpleNamespace(template=lambda value: value))
    found = winrm_certificate_info.ActionModule.perform(action, {"warn_days": 30, "timeout": 5.0}, variables or HTTPS)
    return t.cast("dict[str, t.Any]", found)


@pytest.mark.parametrize(
    ("left", "days", "warning"),
    [
        (datetime.timedelta(days=30), 30, ""),
        (datetime.timedelta(days=30, seconds=-1), 29, "expires in 29 days"),
        (datetime.timedelta(0), 0, "expires in 0 days"),
        (datetime.timedelta(seconds=-1), -1, "expired 1 days ago"),
        (datetime.timedelta(days=-3), -3, "expired 3 days ago"),
        (datetime.timedelta(days=400), 400, ""),
    ],
)
def test_a_certificate_that_expires_soon_causes_a_warning(
    monkeypatch: pytest.MonkeyPatch, left: datetime.timedelta, days: int, warning: str
) -> None:
    found = info(monkeypatch, left)
    assert found["days_left"] == days
    assert found["not_after"] == (NOW + left).isoformat()
    warnings = found.get("warnings", [])
    assert [text.partition("; ")[0] for text in warnings] == (
        [f"win1: the certificate of WinRM at 192.0.2.1:5986 {warning}"] if warning else []
    )


@pytest.mark.parametrize("error", [OSError("no route"), ValueError("no certificate")])
def test_an_unreachable_node_is_not_a_certificate_problem(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    assert info(monkeypatch, error) == {"changed": False, "not_after": "", "days_left": None, "trusted_by": ""}


@pytest.mark.parametrize("other", [{"ansible_connection": "ssh"}, {"ansible_port": 5985}])
def test_a_connection_without_tls_has_no_certificate(monkeypatch: pytest.MonkeyPatch, other: dict[str, t.Any]) -> None:
    assert info(monkeypatch, AssertionError("it is asked"), {**HTTPS, **other})["days_left"] is None


def kubeconfig_problems(*, joins: bool = False, drains: bool = True, **values: t.Any) -> list[str]:
    found = missing_kubeconfigs(values, joins=joins, drains=drains)
    return [problem.variable.split()[0] for problem in found]


MAINTENANCE = {"node_maintenance_kubeconfig": "/none/admin.conf", "node_maintenance_delegate": "localhost"}
JOIN = {"node_join_kubeconfig": "/none/admin.conf", "node_join_delegate": "localhost"}


@pytest.mark.parametrize(
    ("asked", "drain", "problem"), [(True, True, True), (True, False, False), (False, True, False), (True, "no", False)]
)
def test_the_kubeconfig_for_drains_must_exist_on_the_delegate_of_drains(
    asked: bool, drain: object, problem: bool
) -> None:
    found = kubeconfig_problems(drains=asked, node_maintenance_drain=drain, **MAINTENANCE)
    assert found == (["node_maintenance_kubeconfig"] if problem else [])


@pytest.mark.parametrize("joins", [True, False])
def test_the_kubeconfig_for_joins_must_exist_wherever_it_is_set(joins: bool, tmp_path: Path) -> None:
    assert kubeconfig_problems(joins=joins, **JOIN) == ["node_join_kubeconfig"]
    assert kubeconfig_problems(joins=joins, **{**JOIN, "node_join_delegate": "elsewhere"}) == []
    path = tmp_path / "admin.conf"
    path.write_text("a kubeconfig", encoding="utf-8")
    assert kubeconfig_problems(joins=joins, **{**JOIN, "node_join_kubeconfig": str(path)}) == []
    # A play without tasks for a cluster does not have this variable.
    assert kubeconfig_problems(joins=joins) == []
