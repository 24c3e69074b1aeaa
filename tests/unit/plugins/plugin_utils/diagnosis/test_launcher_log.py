# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The launcher's log, and the errors of Windows PowerShell."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.launcher_log import LauncherLog, powershell_error

STARTED, ENDED, UNKNOWN, FAILED = (
    f"kubelet-launcher: {message}"
    for message in (
        "started the kubelet, process 7",
        "the kubelet ended with exit code 1",
        "this kubelet does not know --x",
        "post_kubeadm_commands[0]: exit code 5",
    )
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], LauncherLog()),
        (["E1 of the kubelet", "kubelet-launcher: anything"], LauncherLog()),
        ([STARTED], LauncherLog()),
        ([STARTED, ENDED], LauncherLog(ended="the kubelet ended with exit code 1")),
        ([STARTED, ENDED, STARTED], LauncherLog()),
        ([UNKNOWN, STARTED], LauncherLog(left_out=("--x",))),
        ([UNKNOWN, UNKNOWN.replace("x", "y"), STARTED, ENDED],
         LauncherLog(ended="the kubelet ended with exit code 1", left_out=("--x", "--y"))),
        # The second start has other flags.
        ([UNKNOWN, STARTED, ENDED, STARTED], LauncherLog()),
        ([UNKNOWN, STARTED, ENDED, UNKNOWN, STARTED], LauncherLog(left_out=("--x",))),
        ([STARTED, FAILED], LauncherLog(failed_command="post_kubeadm_commands[0]: exit code 5")),
        # The start of the service runs it again.
        ([STARTED, FAILED, ENDED, STARTED], LauncherLog()),
        (["kubelet-launcher: pre_kubeadm_commands[0]: exit code 5"], LauncherLog()),
    ],
)  # fmt: skip
def test_what_the_launcher_logged_last(lines: list[str], expected: LauncherLog) -> None:
    assert LauncherLog.parse(lines) == expected


# Windows PowerShell 5.1 writes errors in this form to a file.
MISSING = r"""I1 an earlier line of the kubelet

Get-Content : Cannot find path 'C:\k\kubelet-launcher.json' because it does not exist.
At C:\k\kubelet-launcher.ps1:20 char:13
+ $settings = Get-Content -LiteralPath
+             ~~~~~~~~~~~~~~~~~~~~~~~~
    + CategoryInfo          : ObjectNotFound: (C:\k\kubelet-launcher.json:String) [Get-Content], ItemNotFoundException
    + FullyQualifiedErrorId : PathNotFound,Microsoft.PowerShell.Commands.GetContentCommand

"""
POLICY = r"""File C:\k\kubelet-launcher.ps1 cannot be loaded because running scripts is disabled on this
system.
    + CategoryInfo          : SecurityError: (:) [], ParentContainsErrorRecordException
    + FullyQualifiedErrorId : UnauthorizedAccess
"""


NO_FILE = "Get-Content : Cannot find path 'C:\\k\\kubelet-launcher.json' because it does not exist."
NO_SCRIPTS = "C:\\k\\kubelet-launcher.ps1 cannot be loaded because running scripts is disabled on this system."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("I1 a line\n", ""),
        (MISSING, f"{NO_FILE} (PathNotFound,Microsoft.PowerShell.Commands.GetContentCommand)"),
        (MISSING + POLICY, f"File {NO_SCRIPTS} (UnauthorizedAccess)"),
        (POLICY + POLICY.replace("File", "A file"), f"A file {NO_SCRIPTS} (UnauthorizedAccess)"),
    ],
)
def test_the_last_error_of_powershell(text: str, expected: str) -> None:
    assert powershell_error(text.splitlines()) == expected
