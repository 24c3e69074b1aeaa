# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which failures of Windows Update are retried, and which codes are not failures."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.patches import codes


# learn.microsoft.com: Windows Update error reference. The first ones belong to Windows Installer and WinHTTP.
@pytest.mark.parametrize(
    ("code", "name"),
    [
        (1618, "ERROR_INSTALL_ALREADY_RUNNING"),
        (0x80070652, "HRESULT of the same"),
        (0x80072EE2, "ERROR_INTERNET_TIMEOUT"),
        (0x80072EFE, "ERROR_INTERNET_CONNECTION_ABORTED"),
        (0x80240009, "WU_E_OPERATIONINPROGRESS"),
        (0x8024000B, "WU_E_CALL_CANCELLED"),
        (0x80240016, "WU_E_INSTALL_NOT_ALLOWED"),
        (0x8024001E, "WU_E_SERVICE_STOP"),
        (0x80244022, "WU_E_PT_HTTP_STATUS_SERVICE_UNAVAIL"),
        (0x8024402C, "WU_E_PT_WINHTTP_NAME_NOT_RESOLVED"),
        (0x80248007, "WU_E_DS_NODATA"),
    ],
)
def test_temporary_errors_are_retried(code: int, name: str) -> None:
    assert codes.meaning(code) == "temporary", name


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (3010, "reboot"),
        (1641, "reboot"),
        (0x00240005, "reboot"),
        (0x00240006, "already"),
        (0x80240017, "not_applicable"),
        (0x800F081E, "not_applicable"),
        (0x80244017, "failed"),
        (0x80070005, "failed"),
    ],
)
def test_other_codes_describe_the_end(code: int, meaning: str) -> None:
    assert codes.meaning(code) == meaning
