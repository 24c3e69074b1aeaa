# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one place that sends lines to the terminal."""

from __future__ import annotations

from ansible.utils.display import Display

from .printable import printable


def show(line: str) -> None:
    """Shows a line to whoever runs Ansible, whatever nodes put into it."""
    Display().display(printable(line))


def show_details(text: str, host: str) -> None:
    """Shows what only a search for errors needs: at -vvv."""
    Display().vvv(printable(text), host=host)
