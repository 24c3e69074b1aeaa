# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action that writes user data: in check mode, without a token, and for malformed versions."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from unit.action_run import run

from ansible_collections.winkube.node.plugins.action import join_user_data

CLUSTER = {"api_server": "lb:6443", "ca_cert_hash": f"sha256:{64 * '0'}", "cluster_version": "1.37.1"}
TOKEN = "abcdef.0123456789abcdef"


def write(folder: Path, *, check_mode: bool = False, **options: t.Any) -> dict[str, t.Any]:
    path = str(folder / "user-data.yml")
    return run(join_user_data, {**CLUSTER, "user_data_file": path, **options}, check_mode=check_mode)


def test_check_mode_reports_the_files_without_a_token(tmp_path: Path) -> None:
    result = write(tmp_path, token="", check_mode=True)
    assert (result["changed"], result["files"]) == (True, {"user_data_file": str(tmp_path / "user-data.yml")})
    assert list(tmp_path.iterdir()) == []
    assert write(tmp_path, token=TOKEN)["files"] == result["files"]
    assert TOKEN in (tmp_path / "user-data.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token": ""}, "token: expected a bootstrap token, got nothing"),
        ({"token": TOKEN, "kubernetes": "1.37"}, "kubernetes: expected MAJOR.MINOR.PATCH such as 1.37.1, got '1.37'"),
        ({"token": TOKEN, "cluster_version": "1.37"}, "cluster_version: expected MAJOR.MINOR.PATCH"),
    ],
)
def test_nothing_is_written_if_a_value_is_refused(tmp_path: Path, options: dict[str, t.Any], message: str) -> None:
    result = write(tmp_path, **options)
    assert result["failed"]
    assert message in result["msg"]
    assert list(tmp_path.iterdir()) == []


def test_versions_are_checked_without_a_token() -> None:
    assert run(join_user_data, {"kubernetes": "1.37.0", "cluster_version": "1.37.1"})["files"] == {}
    assert run(join_user_data, {"kubernetes": "abc"})["failed"]
