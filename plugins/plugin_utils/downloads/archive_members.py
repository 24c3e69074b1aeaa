# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Check with tar.exe that all names in an archive stay inside the target folder, before the archive is unpacked.

`tar -t` with a pattern exits with 1 if no name matches ("Not found in archive"), and with 0 if any name matches. The
patterns follow libarchive/archive_pathmatch.c: `*` also matches slashes, and a leading `/` matches only absolute
names.
"""

from __future__ import annotations

from ..wire.calls import query
from ..wire.messages import Call, CallResult
from ..wire.scopes import Scope

FORMATS = (".zip", ".tar.gz", ".tgz", ".tar")
_OUTSIDE = ("*../*", "/*", "?:*", r"*..\\*")
INSIDE = Scope("inside-")
"""The default scope (ID prefix) of the calls that `calls` returns."""


def calls(path: str, scope: Scope = INSIDE) -> tuple[Call, ...]:
    """Return the calls that fail if a name in an archive leads outside the target folder.

    Such names contain `..` or a drive letter, or are absolute paths.

    Args:
        path: Windows path of the archive.
        scope: the scope (ID prefix) of the calls.
    """
    return tuple(
        query(
            scope.id(str(index)),
            "tar.exe",
            arguments=("-tf", path, "--", pattern),
            success_codes=(1,),
            output_limit=300,
            long=True,
            on_error="stop",
        )
        for index, pattern in enumerate(_OUTSIDE)
    )


def readable(path: str, call_id: str) -> Call:
    """Return the call that fails if an archive is incomplete or damaged."""
    return query(call_id, "tar.exe", arguments=("-tf", path), output_limit=300, long=True, on_error="stop")


def describe_failure(result: CallResult) -> str:
    """Return an error message with the names that lead outside the target folder.

    Return an empty string if the call failed for another reason, such as a missing tar.exe.
    """
    if result.exit_code != 0:
        return ""
    names = ", ".join(line.strip() for line in result.stdout.splitlines()[:3])
    return f"the archive contains names that lead outside its target folder: {names}"
