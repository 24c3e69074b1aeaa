# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The needed contents of a bundle for each kind of resource, and for several hosts together."""

from __future__ import annotations

import typing as t

import pytest
from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import content
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError
from ansible_collections.winkube.node.plugins.plugin_utils.patches.patch import Patch, PatchFile
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load

SHA, OTHER = "ab" * 32, "cd" * 32
URL = "https://dl.example/v1/kubelet.exe"
SITE = {
    "url": "https://m.example/kubelet.exe",
    "checksum_url": "https://m.example/kubelet.exe.sha512",
    "proxy": "",
    "no_proxy": ["c"],
    "headers": {"X": "y"},
}
USUAL: dict[str, t.Any] = {"type": "Artifact", "name": "kubelet 1.37.1", "path": "C:\\a.exe"}
ARTIFACTS: dict[str, dict[str, t.Any]] = {
    "a checksum": {"urls": [URL], "sha256": SHA, "proxy": "http://p:1", "no_proxy": ["a, b"], "headers": {"H": "h"}},
    "a long checksum": {"urls": [URL], "sha512": "ab" * 64},
    "a checksum file": {"urls": [f"{URL}?sig=1"], "checksum_url": f"{URL}.sha256?sig=1"},
    "a checksum file of another name": {
        "urls": [URL],
        "checksum_url": "https://dl.example/SUMS",
        "checksum_name": "x",
        "checksum_algorithm": "SHA512",
    },
    "a site": {"urls": [URL], "upstream": URL, "checksum_url": f"{URL}.sha256", "sites": [SITE], "proxy": "http://p:1"},
    "a site alone": {"upstream": URL, "sites": [SITE]},
    "a site without a checksum file": {
        "urls": [URL],
        "upstream": URL,
        "checksum_url": f"{URL}.sha256",
        "sites": [{"url": "https://m.example/kubelet.exe"}],
    },
    "no checksum": {"urls": [URL], "allow_unverified": True, "version": "2", "kind": "k", "windows": ["2022"]},
    "a name of one word": {"name": "kubelet", "urls": [URL], "sha256": SHA},
    "another version of Windows": {"urls": [URL], "sha256": SHA, "windows": ["2019"]},
    "nothing to fetch it from": {"upstream": "", "sites": [SITE]},
}
IMAGES: dict[str, dict[str, t.Any]] = {
    "an image": {},
    "a digest": {"digest": f"sha256:{SHA}"},
    "an archive": {"archive": "https://dl.example/a.tar"},
    "an image to remove": {"state": "absent"},
    "a proxy": {"environment": {"HTTP_PROXY": "http://p:1", "no_proxy": "a,b"}},
    "two proxies": {"environment": {"HTTP_PROXY": "http://p:1", "https_proxy": "http://q:1"}},
    "for one version of Windows": {"windows": ["2025", "2019"]},
}


def of(*resources: dict[str, t.Any], windows: t.Sequence[str] = ("2022", "2025")) -> content.BundleContent:
    return content.of_resources(load(list(resources)), windows, {"r.example": {}})


def test_requirements_follow_from_resources() -> None:
    found: dict[str, object] = {}
    for name, more in ARTIFACTS.items():
        try:
            found[name] = content.to_data(of({**USUAL, **more}))["files"]
        except Exception as error:  # a resource may be rejected before
            found[name] = error
    for name, more in IMAGES.items():
        resource = {"type": "ContainerImage", "name": "r.example/pause:3", **more}
        found[name] = content.to_data(of(resource))["images"]
    patches = [
        Patch(name="a", kb="KB1", file=PatchFile(name="a.msu", sha256=SHA, url="https://x/a.msu")),
        Patch(name="b", kb="KB2", file=PatchFile(name="b.msu", sha256=OTHER, local="/b.msu"), windows=("2022",)),
        Patch(name="c", kb="KB3", file=PatchFile(name="c.msu", sha256=SHA, local="/c.msu"), windows=("2019",)),
        Patch(name="d", kb="KB4"),
    ]
    expected = content.of_patches(patches, ["2022", "2025"], "http://p:1", ("a",))
    found["patches"] = content.to_data(expected)["files"]
    assert content.from_data(content.to_data(expected)) == expected
    outcomes.check("bundle/content", found)


def test_requirements_of_several_hosts_are_merged() -> None:
    file = {**USUAL, "urls": [URL]}
    image = {"type": "ContainerImage", "name": "r.example/pause:3"}
    unverified = of({**file, "allow_unverified": True}, {**image, "windows": ["2025"]})
    verified = of({**file, "sha256": SHA}, {**image, "windows": ["2022"], "digest": f"sha256:{SHA}"})
    for joined in (unverified.joined(verified), verified.joined(unverified)):
        assert joined.files == verified.files
        (found,) = joined.images.values()
        assert (found.windows, found.digest) == (("2022", "2025"), f"sha256:{SHA}")
        assert content.from_data(content.to_data(joined)) == joined
    assert verified.joined(content.NOTHING) == content.NOTHING.joined(verified) == verified
    # The same within one host.
    assert of({**file, "allow_unverified": True}, {**file, "name": "b 1", "sha256": SHA}).files.keys() == {
        "dl.example/v1/kubelet.exe"
    }
    sums = of({**file, "checksum_url": f"{URL}.sha256"})
    assert content.from_data(content.to_data(sums)) == sums
    assert unverified.joined(of({**file, "sha256": SHA})).files == verified.files


def test_contradicting_hosts_are_reported() -> None:
    file = {**USUAL, "urls": [f"{URL}?sig=1"]}
    with pytest.raises(BundleError) as caught:
        of({**file, "sha256": SHA}).joined(of({**file, "sha256": OTHER}))
    expected = f"kubelet 1.37.1: expected the same checksum of {URL} for all hosts"
    assert str(caught.value) == f"{expected}, got {SHA} and {OTHER}"
    image = {"type": "ContainerImage", "name": "r.example/pause:3"}
    with pytest.raises(BundleError) as caught:
        of({**image, "digest": f"sha256:{SHA}"}).joined(of({**image, "digest": f"sha256:{OTHER}"}))
    digests = f"sha256:{SHA} and sha256:{OTHER}"
    assert str(caught.value) == f"r.example/pause:3: expected the same digest for all hosts, got {digests}"
