# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The arguments of a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simulator.machine.session import Session


class ArgumentError(ValueError):
    """An argument is missing or wrong; the text is the module's message."""


class Arguments:
    """A module's arguments by name.

    Parameters:
        values: complex_args.
        text: the module's script as it was sent.
    """

    def __init__(self, values: Mapping[str, Any], text: str = "") -> None:
        self._values = values
        self.script = text

    @property
    def check_mode(self) -> bool:
        """Whether nothing may be changed."""
        return bool(self._values.get("_ansible_check_mode"))

    def raw(self, name: str, default: object = None) -> Any:
        """Return an argument as it came."""
        value = self._values.get(name)
        return default if value is None else value

    def text(self, *names: str, default: str | None = None) -> str:
        """Return the first of the names that is given, as text. Raises ArgumentError if none is and no default."""
        for name in names:
            if self._values.get(name) is not None:
                return str(self._values[name])
        if default is None:
            raise ArgumentError(f"missing required arguments: {names[0]}")
        return default

    def path(self, session: Session, *names: str, default: str | None = None) -> str:
        """Return a path with its variables expanded and slashes turned."""
        return session.expand(self.text(*names, default=default)).replace("/", "\\")

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean. Raises ArgumentError."""
        value = self._values.get(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if str(value).casefold() in ("yes", "true", "on", "1", "y", "t"):
            return True
        if str(value).casefold() in ("no", "false", "off", "0", "n", "f"):
            return False
        raise ArgumentError(f"argument for {name} is of type {type(value).__name__} and cannot be converted to bool")


Module = Callable[[Session, Arguments], dict[str, Any]]
