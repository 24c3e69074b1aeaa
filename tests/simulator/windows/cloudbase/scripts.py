# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run scripts, and interpret their exit codes, as cloudbase-init does.

Sources: userdatautils.py, execcmd.py and fileexecutils.py in plugins/common.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

from simulator.machine.objects import NotModelled, ProgramResult
from simulator.machine.programs import SYSTEM
from simulator.windows.cloudbase.configuration import CloudbaseRun

DONE, AGAIN = 1, 2
"""States of a plugin: it has run for this instance, or runs again at the next start."""
_TEMP = r"C:\Windows\Temp"
_UTILS = "plugins.common.userdatautils"


def plugin_result(code: int) -> tuple[int, bool]:
    """Return the plugin state that a script's exit code stands for, and whether the machine has to reboot.

    The exit codes 1001 and 1003 request a reboot; 1002 and 1003 request that the plugin run again at the next start.
    """
    if 1001 <= code <= 1003:
        return (AGAIN if code & 2 else DONE), bool(code & 1)
    return DONE, False


def run_data(run: CloudbaseRun, data: bytes) -> int:
    """Run the script or scripts in user data, and return the sum of their exit codes.

    If the data is not a script, or is a bash script (which Windows cannot run), log a message and return 0.
    """
    found = _kind(data)
    if found is None:
        run.log("WARNING", _UTILS, "Unsupported user_data format")
        return 0
    if found == "sections":
        parts = [("cmd", code) for code in re.findall(rb"<script>([\s\S]+?)</script>", data)]
        parts += [("ps1", code) for code in re.findall(rb"<powershell>([\s\S]+?)</powershell>", data)]
        code = sum(_run(run, _stored(run, kind, text.strip()), _UTILS) for kind, text in parts)
    elif found == "sh":
        code = _without_bash(run, _UTILS, "user_data")
    else:
        code = _run(run, _stored(run, found, data), _UTILS)
    run.log("INFO", _UTILS, f"User_data script ended with return code: {code}")
    return code


def run_file(run: CloudbaseRun, path: str) -> int:
    """Run a script whose extension or first line shows its type, and return its exit code, or 0 for an unknown type."""
    kind = path.rpartition(".")[2].casefold()
    module = "plugins.common.fileexecutils"
    if kind == "sh":
        code = _without_bash(run, module, "file")
        run.log("INFO", module, f'Script "{path}" ended with exit code: {code}')
        return code
    if kind not in ("cmd", "ps1"):
        found = _kind(run.machine.files.read_bytes(path))
        if found not in ("cmd", "ps1"):
            run.log("DEBUG", module, f"No valid extension or header found in the userdata: {path}")
            return 0
        path = _stored(run, found, run.machine.files.read_bytes(path))
    code = _run(run, path, module)
    run.log("INFO", module, f'Script "{path}" ended with exit code: {code}')
    return code


def _without_bash(run: CloudbaseRun, module: str, what: str) -> int:
    """Log the error that occurs because Windows cannot run a bash script, and return 0 as the script's exit code."""
    reason = "[WinError 2] The system cannot find the file specified"
    run.log("WARNING", module, f"An error occurred during {what} execution: '{reason}'")
    return 0


def _kind(data: bytes) -> str | None:
    if re.search(rb"^rem\s+cmd\s", data):
        return "cmd"
    if re.search(rb"^#!\s*/usr/bin/env\s+python\s", data):
        raise NotModelled("a Python script in cloudbase-init's user data")
    if re.search(rb"^#!", data):
        return "sh"
    if re.search(rb"^#(ps1|ps1_sysnative|ps1_x86)\s", data):
        return "ps1"
    return "sections" if re.search(rb"</?(script|powershell)>", data) else None


def _stored(run: CloudbaseRun, kind: str, data: bytes) -> str:
    run.machine.files.make_directory(_TEMP)
    path = rf"{_TEMP}\{uuid.uuid4()}.{kind}"
    run.machine.files.write_bytes(path, data)
    return path


def _run(run: CloudbaseRun, path: str, module: str) -> int:
    """Run a file, remove it if it is temporary, log its output at level DEBUG, and return its exit code."""
    more: dict[str, Any] = {
        "environment": run.environment,
        "directory": r"C:\Windows\System32",
        "stop": run.stop,
        "user": SYSTEM,
    }
    try:
        if path.casefold().endswith(".ps1"):
            arguments = ["-ExecutionPolicy", "RemoteSigned", "-NonInteractive", "-File", path]
            result: ProgramResult = run.machine.programs.run("powershell.exe", arguments, **more)
        else:
            result = run.machine.programs.run(path, [], **more)
    finally:
        if path.startswith(f"{_TEMP}\\") and run.machine.files.is_file(path):
            run.machine.files.delete(path)
    run.log("DEBUG", module, f"User_data stdout:\r\n{result.stdout!r}")
    run.log("DEBUG", module, f"User_data stderr:\r\n{result.stderr!r}")
    return result.exit_code
