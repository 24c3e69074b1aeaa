# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The output of curl's option --write-out. Source: https://curl.se/docs/manpage.html#-w"""

from __future__ import annotations

import json
import re

from simulator.windows.curl.errors import Version
from simulator.windows.curl.transfer import TransferResult

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def text(form: str, outcome: TransferResult, version: Version) -> str:
    """Return the text that --write-out prints for a transfer."""
    values = _values(outcome, version)

    def replace(found: re.Match[str]) -> str:
        token = found[0]
        if token == "%%":
            return "%"
        if token.startswith("\\"):
            return _ESCAPES.get(token[1], token)
        if token.startswith("%header{"):
            return outcome.head.get(token[8:-1]) if outcome.head and version >= (7, 84) else ""
        if found[1] == "json" and version >= (7, 70):
            return json.dumps(values)
        if found[1] == "header_json" and version >= (7, 83):
            return json.dumps(_headers(outcome))
        return str(values.get(found[1], ""))

    # The part after %{onerror} is only for failures (since 7.75).
    form, marker, of_errors = form.partition("%{onerror}")
    if marker and version >= (7, 75) and outcome.code:
        form += of_errors
    return re.sub(r"%%|%header\{[^}]*\}|%\{(\w+)\}|\\.", replace, form)


def _headers(outcome: TransferResult) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in outcome.head.headers if outcome.head else ():
        found.setdefault(name.casefold(), []).append(value)
    return found


def _values(outcome: TransferResult, version: Version) -> dict[str, object]:
    values: dict[str, object] = {
        "http_code": f"{outcome.status:03d}",
        "response_code": f"{outcome.status:03d}",
        "size_download": outcome.size,
        "speed_download": int(outcome.size / outcome.seconds) if outcome.seconds else 0,
        "time_total": f"{outcome.seconds:.6f}",
        "num_redirects": outcome.redirects,
        "redirect_url": "" if outcome.redirects else outcome.redirect_url,
        "url_effective": outcome.url,
        "content_type": outcome.content_type,
        "filename_effective": outcome.path or "",
    }
    values |= {
        "size_header": len(outcome.head.text) if outcome.head else 0,
        "time_starttransfer": f"{outcome.seconds:.6f}",
        "scheme": outcome.url.partition(":")[0],
    }
    if version >= (7, 73):
        values["num_headers"] = len(outcome.head.headers) if outcome.head else 0
    if version >= (7, 75):
        values["url"] = outcome.url
    if version >= (7, 75):
        values |= {"errormsg": outcome.message, "exitcode": outcome.code}
    if version >= (8, 9):
        values["num_retries"] = outcome.retries
    return values
