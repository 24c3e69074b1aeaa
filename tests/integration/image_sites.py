# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What tests of golden images share: the base image, the versions in the image, the release notes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from integration.playbooks import Site

from simulator.machine.executables import make
from simulator.machine.machine import ENVIRONMENT, Machine

BUILDER, RELEASE = "builder", "20261126.1a2b3c4d"
BASE = r"C:\Base\OpenStackService.exe"
"""The program of cloudbase-init in the base image."""
CERTS_D = r"C:\Program Files\containerd\certs.d"
VERSIONS = {
    "kube_node_versions": ["1.36.3", "1.37.0", "1.37.1"],
    "containerd_versions": ["2.1.9", "2.2.9", "2.3.7"],
    "moby_versions": ["28.5.2", "29.1.5", "29.2.0"],
    "azure_vnet_versions": ["1.6.20", "1.6.21", "1.7.0"],
    "sdn_plugin_versions": ["0.2.0", "0.3.0", "0.3.2"],
    "image_cache_artifacts": {
        "crictl": ["1.35.0", "1.36.0", "1.37.0"],
        "cni-plugins": ["1.7.1", "1.8.0", "1.9.0"],
        "cri-dockerd": ["0.4.0", "0.4.1", "0.4.2"],
    },
    "container_tags": [f"registry.k8s.io/pause:{version}" for version in ("3.9", "3.10", "3.10.1")],
}


def no_proxy(site: Site) -> str:
    """Return the addresses that the machine reaches without the proxy: the world's own servers."""
    assert site.world.artifacts is not None
    assert site.world.registry is not None
    return ",".join(str(urlsplit(server.url).hostname) for server in (site.world.artifacts, site.world.registry))


def install_base(site: Site) -> None:
    """Put onto the builder what its base image contains: cloudbase-init, registries, and a proxy with a password."""
    machine = site.machine(BUILDER)
    # The base image has an installation that starts with the machine.
    machine.files.make_directory(BASE.rpartition("\\")[0])
    machine.files.write_bytes(BASE, make("svchost", "1.1.6"))
    for host, more in (("private.example", "[header]\n  X-Token = 's3cret'\n"), ("public.example", "")):
        machine.files.make_directory(rf"{CERTS_D}\{host}")
        machine.files.write_text(rf"{CERTS_D}\{host}\hosts.toml", f"server = 'https://{host}'\n{more}")
    machine.registry.set(ENVIRONMENT, "HTTP_PROXY", "http://robot:s3cret@proxy.example:3128", "String")
    machine.registry.set(ENVIRONMENT, "NO_PROXY", no_proxy(site), "String")
    machine.services.create("cloudbase-init", f'"{BASE}" cloudbase-init', Start=2)


def notes_of(site: Site) -> dict[str, Any]:
    """Return the release notes that the build wrote on the controller."""
    text = (site.folder / "build" / "release-notes" / RELEASE / f"{BUILDER}.json").read_text(encoding="utf-8")
    document = json.loads(text)
    assert isinstance(document, dict)
    return document


def log_of(machine: Machine) -> str:
    """Return the log of cloudbase-init's service."""
    return machine.files.read_text(r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log\cloudbase-init.log")


def downloads(site: Site) -> dict[str, int]:
    """Return the number of requests to the server of artifacts, by path."""
    assert site.world.artifacts is not None
    return dict(site.world.artifacts.status()["requests"])


def forget_downloads(site: Site) -> None:
    """Forget the downloads of the build. There must be some, or the server would not notice others either."""
    assert downloads(site)
    assert site.world.artifacts is not None
    site.world.artifacts.reset()


def kept(folder: Path) -> Path:
    """Copy a build's release notes and bill of materials to build/release-notes, for developers; return the copy."""
    copy = Path(__file__).resolve().parents[2] / "build" / "release-notes" / folder.name
    return Path(shutil.copytree(folder, copy, dirs_exist_ok=True))
