# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows in languages other than English: the messages of its own programs, and the code page of their output.

The node's `language` option or the fault {"kind": "language", "value": "de-DE"} sets the language. The default is
"en-US". Only the sentences in `german.json` are translated. All other sentences remain English. Programs such as sc.exe
and netsh.exe print in the OEM code page that is set in the registry:
https://learn.microsoft.com/windows/win32/intl/code-pages.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

CODE_PAGES = r"HKLM:\SYSTEM\CurrentControlSet\Control\Nls\CodePage"
_OEM = {"en-US": "437", "de-DE": "850"}
_PROGRAMS = {"sc", "netsh", "w32tm", "bcdedit", "reg", "net"}


def set_language(machine: Machine, name: str) -> None:
    """Set the language of a machine.

    Raises:
        ValueError: the language is unknown.
    """
    if name not in _OEM:
        raise ValueError(f"expected one of the languages {', '.join(_OEM)}, got {name}")
    machine.registry.set(CODE_PAGES, "OEMCP", _OEM[name])


def printed(machine: Machine, path: str, text: str) -> bytes:
    """Return the bytes that a program prints for a string.

    The programs in `_PROGRAMS` print in the OEM code page, and all others in UTF-8.

    Args:
        path: the path or the name of the program.
    """
    page = code_page(machine)
    name = path.rpartition("\\")[2].casefold().removesuffix(".exe")
    if name not in _PROGRAMS:
        return text.encode("utf-8", "surrogatepass")
    if page == _OEM["de-DE"]:
        for english, german in _german().items():
            text = text.replace(english, german)
    return text.encode(f"cp{page}", "replace")


def code_page(machine: Machine) -> str:
    """Return the number of a machine's OEM code page."""
    return str(machine.registry.data(CODE_PAGES, "OEMCP", _OEM["en-US"]))


@functools.cache
def _german() -> Mapping[str, str]:
    found: Mapping[str, str] = json.loads(Path(__file__).with_name("german.json").read_text(encoding="utf-8"))["texts"]
    # Longer sentences come first, because some contain shorter ones.
    return dict(sorted(found.items(), key=lambda pair: -len(pair[0])))
