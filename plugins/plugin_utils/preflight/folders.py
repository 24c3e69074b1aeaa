# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Check the paths of folders and files on nodes before any node is touched.

One of these paths is part of a cmd.exe command that kube-proxy's DaemonSet runs to create a junction, and others are
in the machine's PATH. Paths are therefore rejected if they contain characters that have a special meaning there.
"""

from __future__ import annotations

import re
import typing as t

from .variables import Problem

_SUFFIXES = ("_dir", "_log_file", "_artifact_cache")
_ON_THE_CONTROLLER = frozenset({"node_prepare_bundle_dir"})
_PATH = re.compile(r"[A-Za-z]:([\\/][^\\/:*?\"<>|&^%!;\x00-\x1f]+)+[\\/]?")
_EXPECTED = (
    "expected an absolute path on the node, such as C:\\k, without .. and, after the drive, without any of "
    ': * ? " < > | & ^ % ! ;'
)


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each path that cannot be used.

    Args:
        values: templated values of all roles' options. Empty values, and values that are not strings, are left to other
            checks.
    """
    return [
        Problem(name, value, _EXPECTED)
        for name, value in values.items()
        if name.endswith(_SUFFIXES)
        and name not in _ON_THE_CONTROLLER
        and isinstance(value, str)
        and value
        and not is_path(value)
    ]


def is_path(path: str) -> bool:
    """Return whether a string is an absolute Windows path without `..` and without special characters."""
    return bool(_PATH.fullmatch(path)) and ".." not in re.split(r"[\\/]", path)
