# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the variables of the OpenSSH server, and the limit for how full an image's disk may be (no I/O)."""

from __future__ import annotations

import re
import typing as t

from .variables import Problem

_SSH = "windows_settings_ssh"
_KEY = re.compile(r"(?:[^\s\"]+(?:\"[^\"]*\"[^\s\"]*)* )?(?:ssh|ecdsa|sk)-[A-Za-z0-9@.-]+ [A-Za-z0-9+/]+={0,3}(?: .*)?")
"""A line of an authorized_keys file: options (optional), the key, and a comment (optional).

Source: man.openbsd.org/sshd, AUTHORIZED_KEYS FILE FORMAT.
"""
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each invalid value of the OpenSSH server's variables and of `sysprep_max_fill_percent`.

    Args:
        values: templated values of all role options that are set.
    """
    return [*_archive(values), *_keys(values), *_percent(values)]


def _archive(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    name = f"{_SSH}_sha256"
    value = str(values.get(name) or "")
    if values.get(f"{_SSH}_server") == "archive" and not _SHA256.fullmatch(value):
        hint = (
            "Win32-OpenSSH is published without checksums. Download the archive once, check it, and compute its hash."
        )
        yield Problem(name, value, f"expected the SHA-256 of {_SSH}_url", hint)


def _keys(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    name = f"{_SSH}_authorized_keys"
    keys = values.get(name) or ()
    for number, key in enumerate(keys if isinstance(keys, (list, tuple)) else ()):
        where, text = f"{name}[{number}]", str(key).strip()
        if "PRIVATE KEY" in text:
            # A message must not show it.
            yield Problem(
                where, "a private key", "expected a public key", "Use the content of the file that ends in .pub."
            )
        elif text and not _KEY.fullmatch(text):
            yield Problem(where, text, "expected a public key on one line, such as ssh-ed25519 AAAA… name")


def _percent(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    name = "sysprep_max_fill_percent"
    value = values.get(name)
    if isinstance(value, int) and not 0 <= value <= 100:
        yield Problem(name, value, "expected a percentage from 0 to 100")
