# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""docker.exe's container images: which ones are pulled, their names, archives, builds, credentials."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from simulator.kubernetes_node.cri import interface as cri
from simulator.kubernetes_node.docker import dockerd
from simulator.kubernetes_node.images.upstream import Blobs
from simulator.kubernetes_node.registry.server import SimulatedRegistry

from .conftest import Node
from .docker_nodes import DOCKER, docker, listed, started

PAUSE = "pause:3.10.2"


@pytest.mark.parametrize(
    ("windows", "version", "build"),
    [("2019", "28.5.1", 17763), ("2022", "28.5.1", 20348), ("2025", "28.5.1", 17763), ("2025", "29.0.0", 20348)],
)
def test_pull_takes_an_entry_for_the_build(
    make_node: Callable[..., Node], registry: SimulatedRegistry, windows: str, version: str, build: int
) -> None:
    """pause:3.10 has no entry for Server 2025: Docker 28 uses the first one that is not newer, which does not start."""
    node = started(make_node(windows), version)
    name = f"{registry.address}:{registry.port}/pause:3.10"
    assert f"Status: Downloaded newer image for {name}" in docker(node, "pull", name)
    assert f"Status: Image is up to date for {name}" in docker(node, "pull", name)
    (about,) = json.loads(docker(node, "image", "inspect", name))
    assert (about["Os"], int(about["OsVersion"].split(".")[2])) == ("windows", build)
    (row,) = listed(node)
    assert row["Digest"] == registry.images.tags["registry.k8s.io/pause:3.10"]
    server = dockerd.connect(node.machine)
    assert server is not None
    item = server.create("x", name)
    if build < 20348 and windows != "2019":
        with pytest.raises(dockerd.DockerError, match="does not match the host operating system"):
            server.start(item)
    else:
        server.start(item)


def test_names_of_an_image(make_node: Callable[..., Node], registry: SimulatedRegistry) -> None:
    node = started(make_node())
    base = f"{registry.address}:{registry.port}"
    digest = registry.images.tags["registry.k8s.io/pause:3.10.2"]
    docker(node, "pull", "-q", f"{base}/pause@{digest}")
    (row,) = listed(node)
    assert (row["Repository"], row["Tag"], row["Digest"]) == (f"{base}/pause", "<none>", digest)
    docker(node, "tag", f"{base}/pause@{digest}", "registry.k8s.io/pause:3.10.2")
    docker(node, "tag", row["ID"], "pause:mine")
    assert sorted(f"{item['Repository']}:{item['Tag']}" for item in listed(node)) == [
        f"{base}/pause:<none>",
        "pause:mine",
        "registry.k8s.io/pause:3.10.2",
    ]
    assert docker(node, "rmi", "pause:mine") == "Untagged: pause:mine\n"
    assert "No such image: pause:mine" in docker(node, "rmi", "pause:mine", code=1)
    output = docker(node, "rmi", "registry.k8s.io/pause:3.10.2")
    assert f"Deleted: {row['ID']}" in output
    assert listed(node) == []
    assert json.loads(docker(node, "system", "df", "--format", "json").splitlines()[0])["TotalCount"] == "0"


def test_an_image_used_by_a_container_is_kept(make_node: Callable[..., Node], registry: SimulatedRegistry) -> None:
    node = started(make_node())
    name = f"{registry.address}:{registry.port}/{PAUSE}"
    docker(node, "pull", name)
    server = dockerd.connect(node.machine)
    assert server is not None
    server.create("x", name)
    assert "is using its referenced image" in docker(node, "rmi", name, code=1)
    assert "Total reclaimed space: 0B" in docker(node, "image", "prune", "--all", "--force")
    docker(node, "rm", "x")
    assert "deleted: sha256:" in docker(node, "image", "prune", "-af")
    assert listed(node) == []


def test_archives(make_node: Callable[..., Node], registry: SimulatedRegistry) -> None:
    """`docker load` only reads manifest.json, so an OCI layout without this file is rejected."""
    node, other = started(make_node()), started(make_node(), "20.10.24")
    name = f"{registry.address}:{registry.port}/{PAUSE}"
    docker(node, "pull", name)
    docker(node, "save", "-o", r"C:\pause.tar", name)
    data = node.machine.files.read_bytes(r"C:\pause.tar")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert {"manifest.json", "index.json", "oci-layout"} <= set(archive.getnames())
    other.machine.files.write_bytes(r"C:\pause.tar", data)
    assert docker(other, "load", "--input", r"C:\pause.tar") == f"Loaded image: {name}\n"
    assert listed(other)[0]["ID"] == listed(node)[0]["ID"]
    docker(other, "save", "-o", r"C:\old.tar", name)
    with tarfile.open(other.machine.files.real(r"C:\old.tar")) as archive:
        assert "index.json" not in archive.getnames()

    raw = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive, tarfile.open(fileobj=raw, mode="w") as less:
        for member in archive:
            if member.name != "manifest.json":
                less.addfile(member, archive.extractfile(member))
    node.machine.files.write_bytes(r"C:\oci.tar", raw.getvalue())
    assert r"manifest.json: The system cannot find the file specified." in docker(
        node, "load", "-i", r"C:\oci.tar", code=1
    )
    node.machine.files.write_bytes(r"C:\cut.tar", data[: len(data) // 2])
    docker(node, "load", "-i", r"C:\cut.tar", code=1)
    assert "cannot find the file" in docker(node, "load", "-i", r"C:\none.tar", code=1)


def test_a_pause_image_is_built_and_pushed(make_node: Callable[..., Node]) -> None:
    with SimulatedRegistry() as registry:
        base = f"{registry.address}:{registry.port}"
        node = started(make_node())
        node.put(r"C:\build\bin\pause.exe", "pause", "3.10.2")
        node.write(
            r"C:\build\Dockerfile",
            "# a comment\nARG BASE\nARG VERSION=ltsc2022\nFROM ${BASE}/windows/nanoserver:${VERSION}\n"
            'ENV A=1 B="two words"\nLABEL \\\n  role=pause\nADD bin/pause.exe /pause.exe\nUSER ContainerUser\n'
            'ENTRYPOINT ["/pause.exe"]\n',
        )
        output = docker(node, "build", "-t", f"{base}/my/pause:1", "--build-arg", f"BASE={base}", r"C:\build")
        assert f"Successfully tagged {base}/my/pause:1" in output
        (about,) = json.loads(docker(node, "image", "inspect", f"{base}/my/pause:1"))
        assert about["Config"] == {
            "Env": ["A=1", "B=two words"],
            "Labels": {"role": "pause"},
            "User": "ContainerUser",
            "Entrypoint": ["/pause.exe"],
        }
        assert about["OsVersion"].startswith("10.0.20348.")
        assert len(about["RootFS"]["Layers"]) == 2
        assert "digest: sha256:" in docker(node, "push", f"{base}/my/pause:1")
        other = started(make_node())
        docker(other, "pull", f"{base}/my/pause:1")
        assert listed(other)[0]["ID"] == about["Id"]
    for text, problem in (
        ("FROM scratch\n", "Windows does not support FROM scratch"),
        (f"FROM {base}/windows/nanoserver:ltsc2022\nCOPY none.exe /x\n", "file does not exist"),
        ("COPY a b\n", "no build stage"),
        ("", "the Dockerfile cannot be empty"),
    ):
        node.write(r"C:\build\Dockerfile", text)
        assert problem in docker(node, "build", r"C:\build", code=1)


def test_mirrors_apply_to_docker_hub_only(make_node: Callable[..., Node]) -> None:
    images = Blobs()
    images.add("docker.io/library/busybox:1", ["2022"])
    images.add("registry.k8s.io/pause:3.10.2", ["2022"])
    with SimulatedRegistry(images=images) as registry:
        node = started(make_node(), **{"registry-mirrors": [registry.url]})
        docker(node, "pull", "busybox:1")
        assert [(row["Repository"], row["Tag"]) for row in listed(node)] == [("busybox", "1")]
        before = registry.counters["requests"]
        assert "no such host" in docker(node, "pull", "registry.k8s.io/pause:3.10.2", code=1)
        assert registry.counters["requests"] == before


def test_proxies_of_the_daemon_come_before_the_service_environment(
    make_node: Callable[..., Node], registry: SimulatedRegistry
) -> None:
    """The proxy in daemon.json, here the simulated registry, gets the request for the name of the public registry."""
    name = "registry.k8s.io/pause:3.10.2"
    node = make_node()
    insecure = {"insecure-registries": ["registry.k8s.io"]}
    started(node, **insecure, proxies={"http-proxy": registry.url, "https-proxy": registry.url})
    docker(node, "pull", name)
    assert json.loads(docker(node, "info", "--format", "{{json .}}"))["HttpProxy"] == registry.url


@pytest.mark.parametrize("auth", ["basic", "bearer"])
def test_credentials(make_node: Callable[..., Node], auth: str) -> None:
    with SimulatedRegistry(user="u:secret", auth=auth) as registry:  # type: ignore[arg-type]
        base = f"{registry.address}:{registry.port}"
        node = started(make_node())
        assert "pull access denied" in docker(node, "pull", f"{base}/{PAUSE}", code=1)
        assert docker(node, "--config", r"C:\cfg", "login", "-u", "u", "--password-stdin", base, stdin=b"wrong", code=1)
        assert not node.machine.files.exists(r"C:\cfg\config.json")
        output = docker(node, "--config", r"C:\cfg", "login", "-u", "u", "--password-stdin", base, stdin=b"secret\n")
        assert output == "Login Succeeded\n"
        docker(node, "--config", r"C:\cfg", "pull", f"{base}/{PAUSE}")
        found = json.loads(docker(node, "--config", r"C:\cfg", "manifest", "inspect", "--verbose", f"{base}/{PAUSE}"))
        assert {item["Descriptor"]["platform"]["os"] for item in found} == {"linux", "windows"}
        docker(node, "--config", r"C:\cfg", "logout", base)
        assert "secret" not in node.machine.files.read_text(r"C:\cfg\config.json")
        node.write(r"C:\cfg\config.json", json.dumps({"credsStore": "wincred"}))
        assert "docker-credential-wincred" in docker(node, "--config", r"C:\cfg", "pull", f"{base}/{PAUSE}", code=1)


def test_messages_of_failed_pulls(make_node: Callable[..., Node], registry: SimulatedRegistry) -> None:
    base = f"{registry.address}:{registry.port}"
    node = started(make_node("2019"))
    assert "manifest unknown" in docker(node, "pull", f"{base}/pause:9", code=1)
    assert "no matching manifest for windows/amd64 10.0.17763" in docker(
        node, "pull", f"{base}/windows/nanoserver:ltsc2022", code=1
    )
    assert "no matching manifest" in docker(node, "pull", f"{base}/coredns/coredns:v1.37.1", code=1)
    assert "invalid reference format" in docker(node, "pull", "UPPER/x:1", code=1)
    assert "requires at least 1 argument" in docker(node, "pull", code=1)
    assert "actively refused" in docker(node, "pull", "127.0.0.1:1/x:1", code=1)
    node.machine.services.stop("docker")
    assert "error during connect" in docker(node, "pull", f"{base}/{PAUSE}", code=1)
    assert cri.connect(node.machine, dockerd.PIPE) is None


def test_dockers_images_survive_a_restart_and_are_separate_from_containerds(
    make_node: Callable[..., Node], registry: SimulatedRegistry
) -> None:
    node = started(make_node())
    docker(node, "pull", f"{registry.address}:{registry.port}/{PAUSE}")
    node.start_containerd()
    assert node.ctr("images", "list", "-q").stdout == ""
    node.put(r"C:\k\crictl.exe", "crictl", "1.34.0")
    info = json.loads(node.run(r"C:\k\crictl.exe", "imagefsinfo", "-o", "json").stdout)
    assert info["status"]["imageFilesystems"][0]["usedBytes"]["value"] == "0"
    node.machine.services.stop("docker")
    node.machine.services.start("docker")
    assert len(listed(node)) == 1


def layer_of(registry: SimulatedRegistry, name: str, windows: str) -> str:
    """Return the path of an image's layer for a Windows version, for use in faults."""
    content, tags = registry.images.content, registry.images.tags
    index = json.loads(content[tags[name]][1])
    entry = next(item for item in index["manifests"] if item["platform"].get("os.version", "").startswith(windows))
    (layer,) = json.loads(content[entry["digest"]][1])["layers"]
    return f"/v2/{name.partition('/')[2].rpartition(':')[0]}/blobs/{layer['digest']}"


def test_pulls_that_are_disrupted(make_node: Callable[..., Node]) -> None:
    """A pull continues after a broken connection. If it fails (429, full disk), the store does not have the name."""
    name = "mcr.microsoft.com/windows/servercore:ltsc2022"
    with SimulatedRegistry() as registry:
        requested = f"{registry.address}:{registry.port}/windows/servercore:ltsc2022"
        path = layer_of(registry, name, "10.0.20348")
        node = started(make_node())
        registry.fault("status", path, status=429, times=6)
        assert "toomanyrequests" in docker(node, "pull", requested, code=1)
        node.machine.files.reserved = node.machine.files.capacity - 100_000
        assert "There is not enough space on the disk" in docker(node, "pull", requested, code=1)
        assert listed(node) == []
        node.machine.files.reserved = 0
        registry.fault("cut", path, at=10_000, times=2)
        docker(node, "pull", requested)
        assert [(row["Tag"], row["Size"] != "0B") for row in listed(node)] == [("ltsc2022", True)]


def test_several_pulls_at_once(make_node: Callable[..., Node], registry: SimulatedRegistry) -> None:
    node = started(make_node())
    base = f"{registry.address}:{registry.port}"
    requested = [f"{base}/pause:{tag}" for tag in ("3.8", "3.9", "3.10", "3.10.1", "3.10.2")]
    with ThreadPoolExecutor(5) as pool:
        results = list(pool.map(lambda name: node.run(rf"{DOCKER}\docker.exe", "pull", "-q", name), requested * 2))
    assert [result.exit_code for result in results] == [0] * 10
    assert sorted(f"{row['Repository']}:{row['Tag']}" for row in listed(node)) == sorted(requested)
