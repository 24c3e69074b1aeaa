# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""User data in several MIME parts."""

from __future__ import annotations

from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText


def mime(*parts: tuple[str, str, str]) -> str:
    """Return user data with parts, each a subtype of `text`, a content and a file name, which may be empty."""
    message = MIMEMultipart()
    for kind, text, name in parts:
        part = MIMEText(text, kind)
        if name:
            part.add_header("Content-Disposition", "attachment", filename=name)
        message.attach(part)
    return message.as_string()
