# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Patches: what one is, what a node says about itself, and which of them it has (docs/patches.md). Pure."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
import typing as t

from ..windows.windows_info import VERSIONS, WindowsInfo

Status = t.Literal[
    "installed",
    "superseded",
    "needs_reboot",
    "not_applicable",
    "not_offered",
    "failed",
    "skipped",
    "to_install",
]
WELL: t.Collection[str] = frozenset({"installed", "superseded", "skipped"})
"""What a patch may be without failing the task."""

Build = tuple[int, int]
"""Build and update build revision (UBR): (20348, 2849) is 20348.2849."""

_ROLLUP = re.compile(r"Package_for_RollupFix~[^~]*~[^~]*~[^~]*~(\d+)\.(\d+)\.", re.IGNORECASE)
_KB_IN_PACKAGE = re.compile(r"(?<![A-Za-z0-9])KB(\d{6,7})(?!\d)", re.IGNORECASE)
_UNLISTED = re.compile(r"\.NET|Defender|Malicious", re.IGNORECASE)
"""In the titles of updates that neither Get-HotFix nor Get-WindowsPackage shows under the KB they are offered as."""
_PENDING = ("installpending", "uninstallpending")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchFile:
    """A file that is brought to the node and verified there."""

    name: str
    """File name on the node."""
    sha256: str
    url: str = dataclasses.field(default="", repr=False)
    """Where the node downloads it; may carry a signature and is never shown."""
    local: str = ""
    """Where it lies on the controller, if it is pushed instead."""

    @property
    def extension(self) -> str:
        """The file name's extension in lower case, with its dot."""
        return "." + self.name.rpartition(".")[2].lower()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Patch:
    """One entry of the user's list."""

    name: str
    kb: str = ""
    """`KB5034439`, or nothing."""
    build: Build | None = None
    """What a cumulative update makes of the node."""
    package: str = ""
    """Pattern of a package name."""
    file: PatchFile | None = None
    requires: tuple[PatchFile, ...] = ()
    """Checkpoint updates that have to lie beside the file."""
    arguments: tuple[str, ...] = ()
    """Of an `.exe`."""
    test_signed: bool | None = None
    """None: as its signature says."""
    windows: tuple[str, ...] = ()

    @property
    def public(self) -> bool:
        """Whether Windows Update is asked for it."""
        return self.file is None

    @property
    def files(self) -> tuple[PatchFile, ...]:
        """The patch file and the files that it requires."""
        return (*((self.file,) if self.file else ()), *self.requires)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Package:
    """A package of the component store (Get-WindowsPackage)."""

    name: str
    state: str
    """Installed, InstallPending, Superseded, Staged …"""
    release_type: str = ""
    install_time: str = ""

    @property
    def build(self) -> Build | None:
        """What a cumulative update's package brings: it has no KB in its name (community.windows#421)."""
        match = _ROLLUP.match(self.name)
        return (int(match[1]), int(match[2])) if match else None

    @property
    def kbs(self) -> frozenset[str]:
        """The KB numbers in the package's name."""
        return frozenset(f"KB{number}" for number in _KB_IN_PACKAGE.findall(self.name))

    @property
    def pending(self) -> bool:
        """Whether the package waits for a reboot."""
        return self.state.lower() in _PENDING


@dataclasses.dataclass(frozen=True, kw_only=True)
class HotFix:
    """A line of Get-HotFix."""

    kb: str
    description: str = ""
    installed_on: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodePatches:
    """What a node says about its patches."""

    header: WindowsInfo
    hotfixes: t.Mapping[str, HotFix] = dataclasses.field(default_factory=dict)
    """By KB."""
    packages: tuple[Package, ...] = ()
    logged: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """KB → title of what Windows Update logged as installed."""
    secure_boot: bool = False
    test_signing: bool = False
    """Whether the running system was booted with test signing."""
    disabled: tuple[str, ...] = ()
    """Services that an installation needs and that are disabled."""
    to_restore: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Service → start type that an earlier run took away and did not put back."""

    @property
    def build(self) -> Build:
        """Build and revision of the running Windows, such as (20348, 2700)."""
        return self.header.build, self.header.ubr

    @property
    def os_build(self) -> str:
        """Build and revision as text, such as `20348.2700`."""
        return show_build(self.build)

    @property
    def stack_pending(self) -> bool:
        """Whether the update stack itself waits for a reboot: nothing should be installed before it."""
        return "servicing" in self.header.pending_reboot or "update" in self.header.pending_reboot

    @property
    def pending_packages(self) -> tuple[str, ...]:
        """Names of the packages that wait for a reboot."""
        return tuple(package.name for package in self.packages if package.pending)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchState:
    """What the node says about one patch."""

    status: Status
    why: str
    """For people."""


def show_build(build: Build) -> str:
    """Return a build as text, such as `20348.2700`."""
    return f"{build[0]}.{build[1]}"


def judge(patch: Patch, node: NodePatches) -> PatchState:
    """Which state a patch is in, by what the node says and nothing else.

    Returns:
        `to_install` where nothing says that it is there.
    """
    if only_test_signing(patch, node):
        return PatchState(status="to_install", why="is installed, but test signing is off: Windows does not load it")
    return _listed(patch, node)


def only_test_signing(patch: Patch, node: NodePatches) -> bool:
    """Whether Windows has a test-signed patch and does not load it."""
    return bool(patch.test_signed) and not node.test_signing and _listed(patch, node).status == "installed"


def _listed(patch: Patch, node: NodePatches) -> PatchState:
    if patch.windows and node.header.nearest_version not in patch.windows:
        return PatchState(status="skipped", why=f"only for Windows Server {', '.join(patch.windows)}")
    if patch.build is not None and patch.build[0] != node.header.build:
        why = f"it is for build {patch.build[0]}, this is {node.os_build}{_for_others(patch.build[0])}"
        return PatchState(status="not_applicable", why=why)
    found = _by_packages(patch, node) or _by_build(patch, node) or _by_hotfix(patch, node) or _by_log(patch, node)
    return found or PatchState(status="to_install", why="is not installed")


def _for_others(build: int) -> str:
    """How the list's entry says that a patch is not meant for every node."""
    version = VERSIONS.get(build)
    return f'; windows: ["{version}"] in its entry lets other nodes skip it' if version else ""


def _by_packages(patch: Patch, node: NodePatches) -> PatchState | None:
    mine = [package for package in node.packages if _is_of(package, patch)]
    states = {package.state.lower(): package for package in mine}
    if "installpending" in states:
        return PatchState(status="needs_reboot", why=f"{states['installpending'].name} waits for a reboot")
    if "installed" in states:
        return PatchState(status="installed", why=f"Get-WindowsPackage lists {states['installed'].name}")
    if "superseded" in states:
        return PatchState(status="superseded", why=f"{states['superseded'].name} is superseded")
    return None


def _is_of(package: Package, patch: Patch) -> bool:
    if patch.package and fnmatch.fnmatchcase(package.name.lower(), patch.package.lower()):
        return True
    if patch.build is not None and package.build == patch.build:
        return True
    return bool(patch.kb) and patch.kb in package.kbs


def _by_build(patch: Patch, node: NodePatches) -> PatchState | None:
    if patch.build is None or node.build < patch.build:
        return None
    if node.build == patch.build:
        return PatchState(status="installed", why=f"the node has {node.os_build}")
    return PatchState(
        status="superseded", why=f"the node has {node.os_build}, which contains {show_build(patch.build)}"
    )


def _by_hotfix(patch: Patch, node: NodePatches) -> PatchState | None:
    if patch.kb not in node.hotfixes:
        return None
    if patch.build is None:
        return PatchState(status="installed", why=f"Get-HotFix lists {patch.kb}")
    # Listed, but the node does not have its build: staged, or gone.
    if node.stack_pending:
        return PatchState(status="needs_reboot", why=f"{patch.kb} is listed, but the node still has {node.os_build}")
    return None


def _by_log(patch: Patch, node: NodePatches) -> PatchState | None:
    """Only what can be listed nowhere else: an update that is listed nowhere any more may have been removed."""
    title = node.logged.get(patch.kb, "")
    if not title or not _UNLISTED.search(title):
        return None
    return PatchState(status="installed", why=f"Windows Update logged it as installed: {title}")
