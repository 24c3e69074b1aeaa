# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read configuration files in the format of oslo.config, write the log, and keep the data that plugins share."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulator.machine.objects import NotModelled

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

FOLDER = r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init"
_LEVELS = ("DEBUG", "INFO", "WARN", "WARNING", "ERROR")


class CloudbaseConfiguration:
    """The options of one configuration file.

    Source: https://docs.openstack.org/oslo.config/latest/configuration/format.html
    """

    def __init__(self, text: str) -> None:
        self._sections: dict[str, dict[str, str]] = {}
        section, name = "DEFAULT", ""
        for line in text.splitlines():
            if not line.strip() or line.startswith(("#", ";")):
                continue
            if line[0].isspace() and name:
                self._sections[section][name] += f" {line.strip()}"
            elif head := re.fullmatch(r"\[(.+)\]\s*", line):
                section, name = head[1], ""
            else:
                name, _, value = (part.strip() for part in line.partition("="))
                self._sections.setdefault(section, {})[name] = value

    def text(self, name: str, default: str = "", section: str = "DEFAULT") -> str:
        """Return the value of an option. In the file, `$$` stands for a dollar sign.

        Raises:
            NotModelled: the value refers to another option.
        """
        value = self._sections.get(section, {}).get(name, default)
        if re.search(r"\$", value.replace("$$", "")):
            raise NotModelled(f"the reference to another option in cloudbase-init's option {name}")
        return value.replace("$$", "$")

    def flag(self, name: str, default: bool) -> bool:
        """Return whether a boolean option is true."""
        return self.text(name, str(default)).casefold() in ("true", "1", "on", "yes")

    def items(self, name: str, default: str = "") -> list[str]:
        """Return the items of an option whose value is a comma-separated list."""
        return [item.strip() for item in self.text(name, default).split(",") if item.strip()]


@dataclass
class CloudbaseRun:
    """One run of cloudbase-init.exe.

    Args:
        shared: the data that plugins pass to later plugins (`shared_data`).
    """

    machine: Machine
    configuration: CloudbaseConfiguration
    environment: Mapping[str, str]
    stop: threading.Event
    shared: dict[str, str] = field(default_factory=dict)

    def log(self, level: str, module: str, text: str) -> None:
        """Write a line to the log file as oslo.log does, if the log level of the module allows this."""
        logger = f"cloudbaseinit.{module}"
        pairs = dict(pair.split("=", 1) for pair in self.configuration.items("default_log_levels") if "=" in pair)
        least = pairs.get(logger, "DEBUG" if self.configuration.flag("debug", False) else "INFO")
        if _LEVELS.index(level) < _LEVELS.index(least):
            return
        folder = self.configuration.text("log_dir", self.configuration.text("logdir")).rstrip("\\")
        name = self.configuration.text("log_file", self.configuration.text("logfile"))
        if not (folder and name):
            return
        files, path = self.machine.files, f"{folder}\\{name}"
        files.make_directory(folder)
        kept = files.read_bytes(path) if files.is_file(path) else b""
        line = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f} 1000 {level} {logger} [-] {text}\r\n"
        files.write_bytes(path, kept + line.encode())
