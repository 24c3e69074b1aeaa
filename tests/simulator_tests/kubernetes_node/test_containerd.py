# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""containerd, ctr and crictl: configuration, the pipe, images by Windows build, mirrors and proxies."""

from __future__ import annotations

import http.server
import json
import threading
import tomllib
from collections.abc import Callable, Iterator

import pytest

from simulator.kubernetes_node.containerd import config as containerd_config
from simulator.kubernetes_node.containerd.runtime import PodConfig, RuntimeFailure, connect
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.services import ServiceError

from .conftest import CONFIG_V2, CONTAINERD, Node

VERSIONS = ("1.6.36", "1.7.35", "2.0.14", "2.1.9", "2.2.9", "2.3.7", "2.4.2")
PAUSE = "registry.k8s.io/pause:3.10.2"
PULL = ("images", "pull", "--hosts-dir", r"C:\certs.d")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_default_configuration_is_accepted_without_a_warning(version: str) -> None:
    text = containerd_config.default_text(version)

    config = containerd_config.load(text, version, "config.toml")

    assert config.warnings == []
    assert tomllib.loads(containerd_config.dump(config.tables)) == tomllib.loads(text)


@pytest.mark.parametrize("version", VERSIONS)
def test_version_2_works_in_every_containerd(version: str) -> None:
    config = containerd_config.load(CONFIG_V2, version, "config.toml")

    assert config.sandbox_image == PAUSE
    assert (config.cni_bin_dirs, config.cni_conf_dir) == ([r"C:\opt\cni\bin"], r"C:\etc\cni\net.d")
    assert config.registry_config_path == [r"C:\certs.d"]
    assert not [text for text in config.warnings if "Ignoring unknown key" in text]


def test_a_setting_of_another_version_is_lost_with_a_warning() -> None:
    text = "version = 4\n[plugins.'io.containerd.cri.v1.runtime'.cni]\n  bin_dir = 'C:\\k'\n"

    config = containerd_config.load(text, "2.4.2", "config.toml")

    assert config.cni_bin_dirs == [r"C:\Program Files\containerd\cni\bin"]
    (warning,) = config.warnings
    assert 'msg="Ignoring unknown key in TOML for plugin"' in warning
    assert 'key="cni bin_dir" plugin=io.containerd.cri.v1.runtime' in warning


def test_a_newer_version_of_the_file_is_refused() -> None:
    with pytest.raises(containerd_config.ConfigError, match="unsupported config version `4`"):
        containerd_config.load("version = 4\n", "1.7.35", "config.toml")
    with pytest.raises(containerd_config.ConfigError, match="equal to or less than `4`, got `9`"):
        containerd_config.load("version = 9\n", "2.4.2", "config.toml")


@pytest.mark.parametrize("version", ["1.7.35", "2.4.2"])
def test_version_1_has_short_names_of_plugins(version: str) -> None:
    text = "[plugins.cri]\n  sandbox_image = 'x/pause:1'\n"

    assert containerd_config.load(text, version, "config.toml").sandbox_image == "x/pause:1"


def test_only_older_versions_check_the_names_of_plugins() -> None:
    text = "version = 2\n[plugins.bogus]\n  a = 1\n"
    with pytest.raises(containerd_config.ConfigError, match='invalid plugin key URI "bogus"'):
        containerd_config.load(text, "1.7.35", "config.toml")

    assert containerd_config.load(text, "2.4.2", "config.toml").version == 2


def test_a_wrong_type_is_refused() -> None:
    text = "version = 3\n[plugins.'io.containerd.cri.v1.images']\n  snapshotter = 5\n"
    with pytest.raises(
        containerd_config.ConfigError, match="cannot decode TOML integer into struct field snapshotter of type string"
    ):
        containerd_config.load(text, "2.2.9", "config.toml")


def test_files_of_conf_d_are_imported(make_node: Callable[..., Node]) -> None:
    node = make_node(containerd="2.2.9")
    node.write(
        r"C:\Program Files\containerd\conf.d\10.toml",
        "version = 3\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'over'\n",
    )
    node.put(rf"{CONTAINERD}\containerd.exe", "containerd", "2.2.9")
    node.write(rf"{CONTAINERD}\config.toml", "version = 3\n")

    result = node.run(rf"{CONTAINERD}\containerd.exe", "--config", rf"{CONTAINERD}\config.toml", "config", "dump")

    assert result.exit_code == 0
    assert tomllib.loads(result.stdout)["plugins"]["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == "over"


def test_the_service_runs_only_with_its_flag_and_a_good_configuration(make_node: Callable[..., Node]) -> None:
    node = make_node()
    node.put(rf"{CONTAINERD}\containerd.exe", "containerd", "2.4.2")
    node.write(rf"{CONTAINERD}\config.toml", "a = = 1")
    services = node.machine.services
    services.create("containerd", rf"{CONTAINERD}\containerd.exe --run-service --config {CONTAINERD}\config.toml")

    with pytest.raises(ServiceError) as broken:
        services.start("containerd")
    assert broken.value.code == 1053
    node.write(rf"{CONTAINERD}\config.toml", "version = 4\n")
    services.configure("containerd", ImagePath=rf"{CONTAINERD}\containerd.exe --config {CONTAINERD}\config.toml")
    with pytest.raises(ServiceError):
        services.start("containerd")
    services.configure(
        "containerd",
        ImagePath=rf"{CONTAINERD}\containerd.exe --run-service --config {CONTAINERD}\config.toml --no-such-flag",
    )
    with pytest.raises(ServiceError):
        services.start("containerd")


def test_register_service_makes_a_service_that_runs(make_node: Callable[..., Node]) -> None:
    node = make_node()
    for program in ("containerd", "ctr"):
        node.put(rf"C:\Program Files\containerd\{program}.exe", program, "2.4.2")

    result = node.run(r"C:\Program Files\containerd\containerd.exe", "--register-service")

    assert result.exit_code == 0
    node.machine.services.start("containerd")
    service = node.machine.services.get("containerd")
    assert service is not None
    assert (service.state, service.start_mode, service.argv[1]) == ("Running", "Automatic", "--run-service")
    assert node.run(r"C:\Program Files\containerd\ctr.exe", "version").exit_code == 0


def test_ctr_needs_the_pipe(make_node: Callable[..., Node]) -> None:
    node = make_node()
    node.put(rf"{CONTAINERD}\ctr.exe", "ctr", "2.4.2")

    result = node.ctr("images", "list")

    assert result.exit_code == 1
    assert r"open \\.\pipe\containerd-containerd: The system cannot find the file specified." in result.stderr


def test_ctr_refuses_a_flag_of_another_version(make_node: Callable[..., Node], registry: SimulatedRegistry) -> None:
    node = make_node(containerd="1.7.35")
    node.start_containerd()

    result = node.ctr("images", "pull", "--skip-metadata", PAUSE)

    assert result.exit_code == 1
    assert result.stderr == "ctr: flag provided but not defined: -skip-metadata\n"


@pytest.mark.parametrize(("windows", "containerd", "build"), [
    ("2019", "1.7.35", "17763"), ("2022", "1.6.36", "20348"), ("2025", "2.4.2", "26100"), ("insider", "2.4.2", "26100"),
])  # fmt: skip
def test_a_pull_takes_the_entry_of_the_build(
    make_node: Callable[..., Node], registry: SimulatedRegistry, windows: str, containerd: str, build: str
) -> None:
    node = make_node(windows, containerd=containerd)
    node.mirror(registry)
    node.start_containerd()

    result = node.ctr(*PULL, PAUSE)

    assert result.exit_code == 0, result.stderr
    assert f"windows(10.0.{build}." in result.stdout
    listed = node.ctr("images", "list")
    header, row = listed.stdout.splitlines()
    assert header.split() == ["REF", "TYPE", "DIGEST", "SIZE", "PLATFORMS", "LABELS"]
    assert row.split()[0] == PAUSE
    assert row.split()[2] == registry.images.tags[PAUSE]


def test_an_older_image_runs_on_a_newer_windows_from_containerd_1_7(
    make_node: Callable[..., Node], registry: SimulatedRegistry
) -> None:
    old, new = make_node("2025", containerd="1.6.36"), make_node("2025", containerd="1.7.35")
    for node in (old, new):
        node.mirror(registry)
        node.start_containerd()

    refused = old.ctr(*PULL, "registry.k8s.io/pause:3.9")
    taken = new.ctr(*PULL, "registry.k8s.io/pause:3.9")

    assert refused.exit_code == 1
    assert "no match for platform in manifest" in refused.stderr
    assert taken.exit_code == 0, taken.stderr


def test_without_a_mirror_no_registry_is_contacted(make_node: Callable[..., Node]) -> None:
    node = make_node()
    node.start_containerd()

    result = node.ctr("images", "pull", PAUSE)

    assert result.exit_code == 1
    assert "lookup registry.k8s.io: no such host" in result.stderr


def test_a_second_pull_fetches_no_blob(node: Node) -> None:
    assert node.ctr(*PULL, PAUSE).exit_code == 0
    with SimulatedRegistry() as other:
        node.mirror(other)

        assert node.ctr(*PULL, PAUSE).exit_code == 0

        assert other.counters["blobs"] == 0


def test_labels_tags_and_removal(node: Node) -> None:
    node.ctr(*PULL, PAUSE)

    assert node.ctr("images", "label", PAUSE, "io.cri-containerd.pinned=pinned").exit_code == 0
    assert node.ctr("images", "tag", PAUSE, "example.com/pause:1").stdout == "example.com/pause:1\n"
    assert "already exists" in node.ctr("images", "tag", PAUSE, "example.com/pause:1").stderr
    assert node.ctr("images", "tag", "--force", PAUSE, "example.com/pause:1").exit_code == 0
    assert node.ctr("images", "list", "-q").stdout.splitlines() == ["example.com/pause:1", PAUSE]
    assert "io.cri-containerd.pinned=pinned" in node.ctr("images", "list", f"name=={PAUSE}").stdout
    assert node.ctr("images", "remove", PAUSE).stdout == f"{PAUSE}\n"
    again = node.ctr("images", "remove", PAUSE)
    assert (again.exit_code, again.stdout) == (0, "")
    assert f"{PAUSE}: image not found" in again.stderr
    blobs = node.machine.files.listing(r"C:\ProgramData\containerd\root\io.containerd.content.v1.content\blobs\sha256")
    assert blobs
    node.ctr("images", "remove", "--sync", "example.com/pause:1")
    assert not node.machine.files.listing(
        r"C:\ProgramData\containerd\root\io.containerd.content.v1.content\blobs\sha256"
    )


def test_export_and_import(node: Node, make_node: Callable[..., Node]) -> None:
    node.ctr(*PULL, PAUSE)
    assert node.ctr("images", "export", r"C:\pause.tar", PAUSE).exit_code == 0
    other = make_node()
    other.start_containerd()
    other.machine.files.write_bytes(r"C:\pause.tar", node.machine.files.read_bytes(r"C:\pause.tar"))

    result = other.ctr("images", "import", r"C:\pause.tar")

    assert result.exit_code == 0, result.stderr
    assert other.ctr("images", "list", "-q").stdout == f"{PAUSE}\n"
    older = make_node("2019")
    older.start_containerd()
    older.machine.files.write_bytes(r"C:\pause.tar", node.machine.files.read_bytes(r"C:\pause.tar"))
    assert "no match for platform" in older.ctr("images", "import", r"C:\pause.tar").stderr


def test_images_survive_a_restart_and_discarded_layers_are_gone(node: Node) -> None:
    text = CONFIG_V2 + "  [plugins.'io.containerd.grpc.v1.cri'.containerd]\n    discard_unpacked_layers = true\n"
    node.write(rf"{CONTAINERD}\config.toml", text)
    node.machine.services.stop("containerd")
    node.machine.services.start("containerd")
    node.put(r"C:\crictl.exe", "crictl", "1.34.0")
    assert node.run(r"C:\crictl.exe", "pull", PAUSE).exit_code == 0

    node.machine.power.reset()

    listed = json.loads(node.run(r"C:\crictl.exe", "images", "-o", "json").stdout)["images"]
    assert [item["repoTags"] for item in listed] == [[PAUSE]]
    assert listed[0]["pinned"] is True
    assert "failed to get reader" in node.ctr("images", "export", r"C:\pause.tar", PAUSE).stderr


def test_crictl_uses_its_configuration_and_knows_its_flags(node: Node) -> None:
    node.put(r"C:\crictl.exe", "crictl", "1.34.0")
    node.write(r"C:\Users\Administrator\.crictl.yaml", "runtime-endpoint: npipe:////./pipe/elsewhere\n")
    variables = {"USERPROFILE": r"C:\Users\Administrator"}

    assert node.run(r"C:\crictl.exe", "ps", environment=variables).exit_code == 1
    assert (
        node.run(
            r"C:\crictl.exe", "-r", "npipe:////./pipe/containerd-containerd", "ps", environment=variables
        ).exit_code
        == 0
    )
    assert "flag provided but not defined: -bogus" in node.run(r"C:\crictl.exe", "images", "--bogus").stderr
    node.machine.files.delete(r"C:\Users\Administrator\.crictl.yaml")
    info = json.loads(node.run(r"C:\crictl.exe", "info", environment={}).stdout)
    assert [item["status"] for item in info["status"]["conditions"]] == [True, False]


class _Proxy(http.server.BaseHTTPRequestHandler):
    """Records the requested URLs, and answers each with 404."""

    asked: list[str]

    def do_GET(self) -> None:
        """Answer with 404."""
        self.asked.append(self.path)
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 - the base class looks for this name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Log nothing."""


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    """Start an HTTP proxy; yield its URL and the list of requested URLs."""
    asked: list[str] = []

    class Handler(_Proxy):
        pass

    Handler.asked = asked
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("containerd", "who"), [("1.7.35", "ctr"), ("2.4.2", "containerd")])
def test_proxies_are_those_of_the_process_that_pulls(
    make_node: Callable[..., Node], proxy: tuple[str, list[str]], containerd: str, who: str
) -> None:
    url, asked = proxy
    node = make_node(containerd=containerd)
    node.start_containerd()
    if who == "containerd":
        node.machine.services.stop("containerd")
        node.machine.services.configure("containerd", Environment=[f"HTTP_PROXY={url}"])
        node.machine.services.start("containerd")
    variables = {**node.machine.environment(), **({"HTTP_PROXY": url} if who == "ctr" else {})}

    node.ctr("images", "pull", "--plain-http", "example.com/app:1", environment=variables)

    assert asked == ["http://example.com/v2/app/manifests/1"]
    asked.clear()
    node.ctr("images", "pull", "--plain-http", "example.com/app:1", environment={**variables, "NO_PROXY": ".com"})
    assert bool(asked) is (who == "containerd")


def test_a_sandboxs_shim_keeps_its_executable(node: Node) -> None:
    shim = rf"{CONTAINERD}\containerd-shim-runhcs-v1.exe"
    node.put(shim, "containerd-shim-runhcs-v1", "2.4.2")
    containerd = connect(node.machine, "npipe:////./pipe/containerd-containerd")
    assert containerd is not None
    processes = node.machine.processes
    assert processes.executing(shim) is None
    sandbox = containerd.run_sandbox(PodConfig("web", "default", "1", host_network=True))

    # The shim continues to run when containerd stops; containerd.exe is no longer in use then.
    node.machine.services.stop("containerd")
    assert processes.executing(rf"{CONTAINERD}\containerd.exe") is None
    assert processes.executing(shim) == shim

    node.machine.services.start("containerd")
    containerd = connect(node.machine, "npipe:////./pipe/containerd-containerd")
    assert containerd is not None
    containerd.remove_sandbox(sandbox)
    assert processes.executing(shim) is None


@pytest.mark.parametrize(
    "account", [r"NT AUTHORITY\LocalService", r"NT AUTHORITY\NetworkService", r"NT SERVICE\containerd"]
)
def test_a_runtime_without_an_administrators_rights_starts_and_makes_no_pods(node: Node, account: str) -> None:
    node.machine.services.stop("containerd")
    node.machine.services.configure("containerd", ObjectName=account)
    node.machine.services.start("containerd")
    containerd = connect(node.machine, "npipe:////./pipe/containerd-containerd")
    assert containerd is not None

    with pytest.raises(RuntimeFailure, match=r"hcs::CreateComputeSystem \w+: Access is denied"):
        containerd.run_sandbox(PodConfig("web", "default", "1", host_network=True))
