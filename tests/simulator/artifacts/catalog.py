# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Look up release files by URL (host and path). The contents of every version are created on demand."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simulator.artifacts import releases, windows_software

_GITHUB = r"github\.com"
_VERSION = r"(?P<version>\d+\.\d+(?:\.\d+)?(?:-[0-9a-z.]+)?)"
_SAME = r"(?P=version)"


@dataclass(frozen=True)
class Release:
    """A kind of release file, such as an archive of containerd.

    Args:
        url: the pattern of the file's host and path. It may have the groups `program` and `version`.
        make: a function that returns the contents, or None if this file does not exist. Its arguments are the values
            of those groups that the pattern has, first `program`, then `version`.
        checksums: pairs of a checksum file's suffix and its form (see `checksum_file`).
        sums: two URLs for a release that has one checksum file for all its files. The first is the pattern of the
            checksum file's URL. The second is the URL of the archive for Windows, with `{version}` for the version.
    """

    url: str
    make: Callable[..., bytes | None]
    checksums: tuple[tuple[str, str], ...] = ()
    sums: tuple[str, str] = ("", "")


_BARE = ((".sha256", "bare"), (".sha512", "bare"))
_LINE = ((".sha256", "line"), (".sha512", "line"))
_NAMED = ((".sha256", "named"), (".sha512", "named"))

RELEASES: Sequence[Release] = (
    Release(
        rf"(?:cdn\.)?dl\.k8s\.io/(?:release/)?v{_VERSION}/kubernetes-node-windows-amd64\.tar\.gz",
        releases.kubernetes_node,
        _BARE,
    ),
    Release(
        rf"(?:cdn\.)?dl\.k8s\.io/(?:release/)?v{_VERSION}/bin/windows/amd64/"
        r"(?P<program>kubelet|kubeadm|kubectl|kube-proxy|kube-log-runner)\.exe",
        releases.program,
        _BARE,
    ),
    Release(
        rf"(?:packages\.aks\.azure\.com|acs-mirror\.azureedge\.net)/kubernetes/v{_VERSION}/windowszip/v{_SAME}-1int\.zip",
        releases.kubernetes_windows_zip,
    ),
    Release(
        rf"{_GITHUB}/containerd/containerd/releases/download/v{_VERSION}/containerd-{_SAME}-windows-amd64\.tar\.gz",
        releases.containerd,
        ((".sha256sum", "named"),),
    ),
    Release(
        rf"{_GITHUB}/kubernetes-sigs/cri-tools/releases/download/v{_VERSION}/crictl-v{_SAME}-windows-amd64\.tar\.gz",
        releases.crictl,
        _LINE,
    ),
    Release(
        rf"{_GITHUB}/containernetworking/plugins/releases/download/v{_VERSION}/cni-plugins-windows-amd64-v{_SAME}\.tgz",
        releases.cni_plugins,
        _NAMED,
    ),
    # Versions before 0.3.2 have no checksum files. Until February 2025, the archive of 0.3.1 had no `v` in its name
    # (microsoft/windows-container-networking pull request 112, .github/workflows/release.yml).
    Release(
        rf"{_GITHUB}/microsoft/windows-container-networking/releases/download/v(?P<version>0\.[0-2]\.\d+|0\.3\.[01])/"
        rf"windows-container-networking-cni-amd64-v?{_SAME}\.zip",
        releases.microsoft_cni,
    ),
    Release(
        rf"{_GITHUB}/microsoft/windows-container-networking/releases/download/v(?!0\.[0-2]\.|0\.3\.[01]/){_VERSION}/"
        rf"windows-container-networking-cni-amd64-v{_SAME}\.zip",
        releases.microsoft_cni,
        ((".sha256", "release"), (".sha512", "release")),
    ),
    # No checksum files, because the release workflow publishes only dist/flannel*.
    Release(
        rf"{_GITHUB}/flannel-io/flannel/releases/download/v{_VERSION}/(?P<program>flanneld)\.exe", releases.program
    ),
    Release(
        rf"{_GITHUB}/flannel-io/flannel/releases/download/v{_VERSION}/flannel-v{_SAME}-windows-amd64\.tar\.gz",
        releases.flannel,
    ),
    Release(
        rf"{_GITHUB}/flannel-io/cni-plugin/releases/download/v{_VERSION}/cni-plugin-flannel-windows-amd64-v{_SAME}\.tgz",
        releases.flannel_cni,
        _NAMED,
    ),
    Release(
        rf"(?:packages\.aks\.azure\.com|acs-mirror\.azureedge\.net)/azure-cni/v{_VERSION}/binaries/"
        rf"(?P<program>azure-vnet-cni(?:-singletenancy|-swift|-overlay)?)-windows-amd64-v{_SAME}\.zip",
        releases.azure_cni,
    ),
    Release(
        rf"(?:packages\.aks\.azure\.com|acs-mirror\.azureedge\.net)/csi-proxy/v{_VERSION}/binaries/csi-proxy-v{_SAME}\.tar\.gz",
        releases.csi_proxy,
    ),
    Release(
        rf"{_GITHUB}/Mirantis/cri-dockerd/releases/download/v{_VERSION}/cri-dockerd-{_SAME}\.win\.amd64\.zip",
        releases.cri_dockerd,
    ),
    Release(rf"download\.docker\.com/win/static/stable/x86_64/docker-{_VERSION}\.zip", releases.docker),
    Release(rf"nssm\.cc/(?:release|ci)/nssm-{_VERSION}\.zip", releases.nssm),
    # Microsoft's Update Catalog: file names in any folder.
    Release(
        r"catalog\.(?:s\.download\.windowsupdate|sf\.dl\.delivery\.mp\.microsoft)\.com/(?:[^?]+/)?"
        r"windows1[01]\.0-(?P<program>kb\d+)-x64(?:-[a-z0-9]+)?(?:_[0-9a-f]{40})?\.(?P<version>msu|cab)",
        releases.windows_update,
    ),
    # A single checksum file for all platforms: containerd/nerdctl .github/workflows/release.yml.
    Release(
        rf"{_GITHUB}/containerd/nerdctl/releases/download/v{_VERSION}/nerdctl-{_SAME}-windows-amd64\.tar\.gz",
        releases.nerdctl,
        sums=(
            rf"{_GITHUB}/containerd/nerdctl/releases/download/v{_VERSION}/SHA256SUMS",
            "github.com/containerd/nerdctl/releases/download/v{version}/nerdctl-{version}-windows-amd64.tar.gz",
        ),
    ),
    # https://github.com/microsoft/SDN/tree/master/Kubernetes/windows. AgentBaker and collectlogs.ps1 use both hosts.
    Release(
        rf"(?:{_GITHUB}/[Mm]icrosoft/SDN/raw|raw\.githubusercontent\.com/[Mm]icrosoft/SDN)/(?P<version>master|[0-9a-f]{{40}})"
        r"/Kubernetes/windows/(?P<program>(?:debug/)?[A-Za-z.0-9]+\.(?:ps1|psm1|cmd))",
        releases.sdn_script,
    ),
    # https://github.com/cloudbase/cloudbase-init/releases. The second URL always serves the newest version.
    Release(
        r"github\.com/cloudbase/cloudbase-init/releases/download/(?P<version>\d+\.\d+\.\d+)/CloudbaseInitSetup_[0-9_]+_x64\.msi",
        windows_software.cloudbase_init,
    ),
    Release(
        r"www\.cloudbase\.it/downloads/CloudbaseInitSetup_(?:Stable_)?x64\.msi",
        windows_software.cloudbase_init,
    ),
    # Further files that kubernetes-sigs/image-builder downloads.
    Release(r"aka\.ms/installazurecliwindowsx64", windows_software.azure_cli),
    Release(r"(?:upstream|k8s)artifacts\.azureedge\.net/nssm/nssm\.exe", windows_software.nssm_program),
    Release(
        rf"{_GITHUB}/kubernetes-sigs/cloud-provider-azure/releases/latest/download/"
        r"azure-acr-credential-provider-windows-amd64\.exe",
        windows_software.credential_provider,
    ),
    Release(
        r"raw\.githubusercontent\.com/kubernetes-sigs/cloud-provider-azure/master/examples/out-of-tree/"
        r"credential-provider-config-win\.yaml",
        windows_software.credential_provider_config,
    ),
    Release(
        r"raw\.githubusercontent\.com/kubernetes-sigs/sig-windows-tools/master/hack/(?P<program>[A-Za-z]+\.ps1)",
        windows_software.debug_script,
    ),
    # https://github.com/PowerShell/Win32-OpenSSH/releases
    Release(
        rf"{_GITHUB}/PowerShell/Win32-OpenSSH/releases/download/v?(?P<version>\d+(?:\.\d+)+p1(?:-[A-Za-z]+)?)/"
        r"OpenSSH-Win64\.zip",
        windows_software.openssh,
    ),
    Release(
        rf"{_GITHUB}/[Mm]icrosoft/SDN/archive/(?:refs/heads/)?(?P<version>master|[0-9a-f]{{40}})\.tar\.gz",
        releases.sdn_archive,
    ),
    Release(
        rf"{_GITHUB}/moby/buildkit/releases/download/v{_VERSION}/buildkit-v{_SAME}\.windows-amd64\.tar\.gz",
        releases.buildkit,
    ),
    # projectcalico/calico release/internal/utils: a single SHA256SUMS for the assets of a release.
    Release(
        rf"{_GITHUB}/projectcalico/calico/releases/download/v{_VERSION}/calico-windows-v{_SAME}\.zip",
        releases.calico,
        sums=(
            rf"{_GITHUB}/projectcalico/calico/releases/download/v{_VERSION}/SHA256SUMS",
            "github.com/projectcalico/calico/releases/download/v{version}/calico-windows-v{version}.zip",
        ),
    ),
)


def checksum_file(content: bytes, name: str, suffix: str, form: str) -> bytes:
    """Return the checksum file that is published with a file.

    Args:
        content: the contents of the file.
        name: the name of the file.
        suffix: .sha256, .sha256sum or .sha512.
        form: `bare` (only the hash, as on dl.k8s.io), `line` (the hash and a line ending), `named` (the output of
            sha256sum), or `release` (the output of sha256sum with the path of the build).
    """
    digest = hashlib.new("sha512" if "512" in suffix else "sha256", content).hexdigest()
    named = f"{digest}  {name}\n"
    forms = {"bare": digest, "line": f"{digest}\n", "named": named, "release": f"{digest}  ./release/{name}\n"}
    return forms[form].encode()


@functools.lru_cache(maxsize=64)
def content(url: str) -> bytes | None:
    """Return the contents of a URL (host and path, without scheme), or None if there is no file with this URL.

    The contents are the same in every process, because the members of archives are sorted and have fixed dates, and the
    padding of programs comes from a random generator with a fixed seed.
    """
    for release in RELEASES:
        found = re.fullmatch(release.url, url)
        if found:
            return release.make(*(found[key] for key in ("program", "version") if key in found.re.groupindex))
        for suffix, form in release.checksums:
            if url.endswith(suffix) and re.fullmatch(release.url, url[: -len(suffix)]):
                file = content(url[: -len(suffix)])
                assert file is not None
                return checksum_file(file, url.rpartition("/")[2][: -len(suffix)], suffix, form)
        found = re.fullmatch(release.sums[0], url) if release.sums[0] else None
        if found:
            return _sums(release.sums[1].format(version=found["version"]))
    return None


def _sums(url: str) -> bytes:
    """Return a release's checksum file. It lists archives for three platforms; only the hash for Windows is correct."""
    file = content(url)
    assert file is not None
    name = url.rpartition("/")[2]
    others = [name.replace("windows", system) for system in ("freebsd", "linux")]
    lines = [checksum_file(other.encode(), other, ".sha256", "named") for other in others]
    return b"".join([*lines, checksum_file(file, name, ".sha256", "named")])
