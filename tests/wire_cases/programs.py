# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs that the module runs on this machine: executables that run Python code."""

from __future__ import annotations

import io
import stat
import sys
import zipfile
from importlib import resources
from pathlib import Path


def make(folder: Path, name: str, code: str) -> str:
    """Make an executable, and return its path.

    Args:
        folder: the folder of the executable.
        name: the file name, with `.exe`.
        code: the Python code that the executable runs.
    """
    path = folder / name
    if sys.platform == "win32":
        path.write_bytes(_windows_program(code))
    else:
        path.write_text(f"#!{sys.executable}\n{code}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def _windows_program(code: str) -> bytes:
    """Return an executable as pip makes it from a console script: a launcher, the interpreter, and the code in a zip.

    Source: distlib.scripts.ScriptMaker._write_script.
    """
    launcher = resources.files("pip._vendor.distlib").joinpath("t64.exe").read_bytes()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("__main__.py", code)
    return launcher + f'#!"{sys.executable}"\r\n'.encode() + archive.getvalue()
