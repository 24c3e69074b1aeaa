# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The batch file with which kube-proxy's pod prepares the node, so no playbook is needed for this preparation.

The batch file creates kube-proxy's folder, and links the pod's token and kubeconfig there. Its other parts write
kube-proxy's configuration (`kube_proxy_setup.py`), and the CNI configuration of some networks (`cni_setup.py`).
"""

from __future__ import annotations

import typing as t

from .manifests import POD_VOLUME

SCRIPT = "configure.cmd"
"""Name of the batch file in the pod's volume."""
ACCESS = "access"
"""Name of the link to the pod's volume. The link is in the folder in which the batch file runs."""
_VOLUME = POD_VOLUME.replace("$(POD_UID)", "%POD_UID%")


def batch(install_dir: str, *parts: t.Iterable[str]) -> str:
    """Return the text of the batch file.

    Args:
        install_dir: folder of the Kubernetes programs on the nodes.
        parts: the lines of each further part of the batch file.
    """
    folder = f"{install_dir}\\kube-proxy"
    lines = [
        "@echo off",
        "rem The pod of kube-proxy runs this file before kube-proxy. It belongs to winkube.node.",
        f'if not exist "{folder}" mkdir "{folder}"',
        f'cd /d "{folder}" || exit /b 1',
        f"rmdir {ACCESS} 2> nul",
        f"mklink /J {ACCESS} {_VOLUME} || exit /b 1",
        *(line for part in parts for line in part),
        "exit /b 0",
    ]
    return "".join(f"{line}\r\n" for line in lines)


def replaced(target: str, *, new: str, generated: str, unfinished: str) -> list[str]:
    """Return the lines of the batch file that replace a file on the node, unless a playbook has changed that file.

    The batch file recognizes such a change by comparing the file with a copy of the content that the previous pod
    wrote. The new content is moved into place from the same folder, so other programs never read an incomplete file.

    Args:
        target: path of the file.
        new: path of a temporary file with the new content. This file is removed.
        generated: path of the copy of the content that the previous pod wrote.
        unfinished: path of a file that exists while the pod writes `target` and `generated`. If the previous pod was
            interrupted, this file still exists, and the other two may differ.
    """
    return [
        "set keep=",
        f'if exist "{target}" set keep=yes',
        f'if exist {generated} (fc /b "{target}" {generated} > nul && set keep=)',
        f"if exist {unfinished} set keep=",
        f"if not defined keep echo pod> {unfinished}",
        f'if not defined keep (copy /y {new} "{target}.new" > nul || exit /b 1)',
        f'if not defined keep (move /y "{target}.new" "{target}" > nul || exit /b 1)',
        f"copy /y {new} {generated} > nul || exit /b 1",
        f"del {new}",
        f"if exist {unfinished} del {unfinished}",
    ]
