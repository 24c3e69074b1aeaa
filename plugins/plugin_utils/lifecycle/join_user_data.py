# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build user data or Azure extension settings that install chosen versions on a new machine and join it to a cluster.

If a command of the user data fails, `exit /b 1` ends the script: cloudbase-init runs the `runcmd` list as the lines of
one batch file, which would otherwise continue with the next command (cloudbase-init 1.1.8,
plugins/common/userdataplugins/cloudconfigplugins/runcmd.py).

Azure's Custom Script Extension for Windows runs `commandToExecute` as SYSTEM. Only `protectedSettings` are encrypted
(learn.microsoft.com/azure/virtual-machines/extensions/custom-script-windows).
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..node_config.kubeadm import Join, join_configuration
from ..release_notes.contents import ImageContents, NotedComponent
from ..values.errors import ResourceError
from ..values.versions import EXPECTED, Version
from ..values.yaml_text import to_yaml
from ..windows.command_line import quote
from ..windows.node_paths import LAUNCHER_SCRIPT, POWERSHELL
from .version_script import SCRIPT

_CONFIGURATION = "C:\\run\\kubeadm\\kubeadm-join-config.yaml"
"""kubeadm's configuration, which contains the join token. In an image, only administrators can access its folder."""
_LOG = "C:\\run\\kubeadm\\join.log"
_VERSION = re.compile(r"v?[0-9A-Za-z][0-9A-Za-z.+-]*")
_PROGRAM = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenVersions:
    """The versions that a machine installs from its cache. An empty string keeps the image's version."""

    kubernetes: str = ""
    runtime: str = ""
    network: str = ""
    """A version, or a comma-separated list of `PROGRAM=VERSION` entries if the pod network has several programs."""

    @property
    def given(self) -> dict[str, str]:
        """The versions to install. The keys are parameters of the script that installs them."""
        all_versions = {"Kubernetes": self.kubernetes, "Runtime": self.runtime, "Network": self.network}
        return {name: value for name, value in all_versions.items() if value}

    def check(self, image: ImageContents | None, cluster_version: str | None = None) -> None:
        """Check the versions, and compare them with the release notes of an image.

        Args:
            image: the release notes, or None if they are unknown.
            cluster_version: kubeadm's version, used if no version of Kubernetes is chosen, or None if it is unknown.

        Raises:
            ResourceError: a version is malformed, or the release notes do not offer it.
        """
        if cluster_version is not None and not self.kubernetes:
            _check_full("cluster_version", cluster_version)
        for parameter, value in self.given.items():
            option = parameter.lower()
            components = [] if image is None else [one for one in image.components if one.parameter == parameter]
            if image is not None and not components:
                expected = "expected release notes of an image that was built with the tag cached_versions"
                raise ResourceError(option, value, expected)
            if parameter == "Network":
                _check_network(option, value, components)
            else:
                _check_one(option, value, components)


def _check_one(option: str, value: str, components: t.Sequence[NotedComponent]) -> None:
    if not _VERSION.fullmatch(value):
        raise ResourceError(option, value, "expected one version such as 1.37.1")
    if option == "kubernetes":
        _check_full(option, value)
    if components:
        _check_offered(option, value, value, components[0])


def _check_full(option: str, value: str) -> None:
    try:
        Version.parse(value)
    except ValueError:
        raise ResourceError(option, value, EXPECTED) from None


def _check_network(option: str, value: str, components: t.Sequence[NotedComponent]) -> None:
    names = [_check_word(option, word, components) for word in value.split(",")]
    if len(set(names)) < len(names):
        raise ResourceError(option, value, "expected each PROGRAM only once")


def _check_word(option: str, word: str, components: t.Sequence[NotedComponent]) -> str:
    """Check `VERSION` or `PROGRAM=VERSION`, and return the program's name.

    The name is empty if `word` contains only a version and the programs of the image are unknown.

    Raises:
        ResourceError: `word` has neither form, it does not select one of the image's programs, or the image does not
            offer the version.
    """
    name, equals, version = word.rpartition("=")
    if not _VERSION.fullmatch(version) or (equals and not _PROGRAM.fullmatch(name)):
        raise ResourceError(option, word, "expected a version such as 1.37.1, or PROGRAM=VERSION")
    if components:
        named = [one for one in components if one.name == name] if equals else list(components)
        if len(named) != 1:
            expected = f"expected PROGRAM=VERSION, with PROGRAM one of {', '.join(one.name for one in components)}"
            raise ResourceError(option, word, expected)
        _check_offered(option, word, version, named[0])
        return named[0].name
    return name


def _check_offered(option: str, word: str, version: str, component: NotedComponent) -> None:
    if version.removeprefix("v") not in component.versions:
        raise ResourceError(option, word, f"expected one of {', '.join(component.versions)}")


def user_data(versions: ChosenVersions, join: Join, kubernetes: str, install_dir: str) -> str:
    """Return a cloud-config for cloudbase-init. If a version cannot be installed, the machine does not join.

    Args:
        versions: the versions that the machine installs.
        join: the cluster to join, and the join token.
        kubernetes: kubeadm's version, which determines the format of kubeadm's configuration.
        install_dir: the folder of kubeadm.exe.

    Raises:
        ValueError: the version of kubeadm is unknown.
    """
    failed = f" || (del /q {_CONFIGURATION} & exit /b 1)"
    commands = [
        "@echo off",
        *(f"{command}{failed}" for command in _before(versions, install_dir)),
        f"{_kubeadm(install_dir)} join --config {_CONFIGURATION} > {_LOG} 2>&1{failed}",
        f"del /q {_CONFIGURATION}",
    ]
    document = {
        "write_files": [{"path": _CONFIGURATION, "content": join_configuration(kubernetes, join)}],
        "runcmd": commands,
    }
    return f"#cloud-config\n{to_yaml(document, sort_keys=False)}"


def protected_settings(versions: ChosenVersions, join: Join, install_dir: str) -> str:
    """Return the protected settings of a Custom Script Extension, as JSON.

    Args:
        versions: as in `user_data`.
        join: as in `user_data`.
        install_dir: as in `user_data`.
    """
    hashes = [word for one in join.ca_cert_hashes for word in ("--discovery-token-ca-cert-hash", one)]
    kubeadm = [_kubeadm(install_dir), "join", join.api_server, "--token", join.token, *hashes]
    command = " && ".join([*_before(versions, install_dir), " ".join([*kubeadm, "--cri-socket", join.cri_socket])])
    return json.dumps({"commandToExecute": command}, indent=2) + "\n"


def installation(versions: ChosenVersions) -> str:
    """Return the command that installs the versions, or an empty string if the machine keeps the image's versions.

    Args:
        versions: the versions that the machine installs.
    """
    arguments = [argument for name, value in versions.given.items() for argument in (f"-{name}", value)]
    return _script(SCRIPT, *arguments) if arguments else ""


def _before(versions: ChosenVersions, install_dir: str) -> list[str]:
    """Return the commands that run before kubeadm."""
    own = installation(versions)
    return [*([own] if own else []), _script(f"{install_dir}\\{LAUNCHER_SCRIPT}", "-PreCommands")]


def _kubeadm(install_dir: str) -> str:
    return quote(f"{install_dir}\\kubeadm.exe")


def _script(path: str, *arguments: str) -> str:
    return " ".join([POWERSHELL, "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File", quote(path), *arguments])
