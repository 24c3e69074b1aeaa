# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Print lines and -vvv messages on the terminal, without unprintable characters."""

from __future__ import annotations

from ansible.utils.display import Display

from .printable import printable


def show(line: str) -> None:
    """Print a line, which may contain text from nodes."""
    Display().display(printable(line))


def show_details(text: str, host: str) -> None:
    """Print a message about a host if Ansible runs with -vvv."""
    Display().vvv(printable(text), host=host)
