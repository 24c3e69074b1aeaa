# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module join_user_data: see plugins/modules/join_user_data.yml."""

from __future__ import annotations

import pathlib
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.lifecycle.join_user_data import ChosenVersions, protected_settings, user_data
from ..plugin_utils.node_config.kubeadm import Join
from ..plugin_utils.release_notes.contents import ImageContents, from_json
from ..plugin_utils.reports import files
from ..plugin_utils.values.errors import ResourceError
from ..plugin_utils.windows import node_paths


class ActionModule(ControllerAction):
    """Writes two files that make machines created from an image join a cluster. Contacts no node.

    One file contains user data, and the other the protected settings of an Azure VM extension.
    """

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "kubernetes": {"type": "str", "default": ""},
        "runtime": {"type": "str", "default": ""},
        "network": {"type": "str", "default": ""},
        "release_notes": {"type": "path"},
        "api_server": {"type": "str"},
        "ca_cert_hash": {"type": "str"},
        "token": {"type": "str", "no_log": True},
        "cluster_version": {"type": "str"},
        "cri_socket": {"type": "str", "default": node_paths.CONTAINERD_PIPE},
        "install_dir": {"type": "str", "default": "C:\\k"},
        "user_data_file": {"type": "path"},
        "extension_file": {"type": "path"},
    }
    MORE: t.ClassVar[t.Mapping[str, t.Any]] = {
        "required_by": {
            "token": ("api_server", "ca_cert_hash", "cluster_version"),
            "user_data_file": "token",
            "extension_file": "token",
        },
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        versions = ChosenVersions(**{name: options[name] for name in ("kubernetes", "runtime", "network")})
        try:
            versions.check(_notes(options["release_notes"]), options["cluster_version"])
            paths = {name: options[name] for name in ("user_data_file", "extension_file") if options[name]}
            if paths and not self._task.check_mode:
                self._write(paths, versions, options)
        except ResourceError as error:
            return {"changed": False, "failed": True, "msg": str(error)}
        return {"changed": bool(paths), "files": paths}

    def _write(self, paths: t.Mapping[str, str], versions: ChosenVersions, options: t.Mapping[str, t.Any]) -> None:
        """Write the files with mode 0600. Each one is written under a temporary name and then renamed."""
        if not options["token"]:
            raise ResourceError("token", None, "expected a bootstrap token")
        texts = self._texts(versions, options)
        for option, path in paths.items():
            files.write_result(option, path, texts[option])

    @staticmethod
    def _texts(versions: ChosenVersions, options: t.Mapping[str, t.Any]) -> dict[str, str]:
        join = Join(
            api_server=options["api_server"],
            token=options["token"],
            ca_cert_hashes=(options["ca_cert_hash"],),
            cri_socket=options["cri_socket"],
        )
        kubeadm = versions.kubernetes or options["cluster_version"]
        return {
            "user_data_file": user_data(versions, join, kubeadm, options["install_dir"]),
            "extension_file": protected_settings(versions, join, options["install_dir"]),
        }


def _notes(path: str | None) -> ImageContents | None:
    if not path:
        return None
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ResourceError("release_notes", path, f"expected a readable file ({error})") from error
    return from_json(text, "release_notes")
