# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Patches, and whether a node has them according to its reported state (docs/patches.md; no I/O)."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
import typing as t

from ..windows import windows_versions
from ..windows.windows_info import WindowsInfo

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
"""Statuses that do not fail the task."""

Build = tuple[int, int]
"""Build number and update build revision (UBR): the pair (20348, 2849) stands for 20348.2849."""

_ROLLUP = re.compile(r"Package_for_RollupFix~[^~]*~[^~]*~[^~]*~(\d+)\.(\d+)\.", re.IGNORECASE)
_KB_IN_PACKAGE = re.compile(r"(?<![A-Za-z0-9])KB(\d{6,7})(?!\d)", re.IGNORECASE)
_UNLISTED = re.compile(r"\.NET|Defender|Malicious", re.IGNORECASE)
"""Pattern for the titles of updates that Get-HotFix and Get-WindowsPackage do not list under their KB numbers."""
_PENDING = ("installpending", "uninstallpending")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchFile:
    """A file that is downloaded or uploaded to the node and verified there."""

    name: str
    """File name on the node."""
    sha256: str
    url: str = dataclasses.field(default="", repr=False)
    """URL from which the node downloads the file. It may contain a signature, so messages show it only redacted."""
    local: str = ""
    """Path on the controller, if the file is uploaded instead of downloaded."""

    @property
    def extension(self) -> str:
        """The file name's extension in lower case, including the dot."""
        return "." + self.name.rpartition(".")[2].lower()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Patch:
    """One entry of the user's list of patches."""

    name: str
    kb: str = ""
    """KB number such as `KB5034439`; empty if the user's entry has none."""
    build: Build | None = None
    """The build that a cumulative update installs."""
    package: str = ""
    """Wildcard pattern for the name of the package that the patch installs; empty if the user's entry has none."""
    file: PatchFile | None = None
    requires: tuple[PatchFile, ...] = ()
    """Checkpoint updates that must be in the same folder as the patch's file."""
    arguments: tuple[str, ...] = ()
    """Command-line arguments of an `.exe` patch file."""
    test_signed: bool | None = None
    """Whether the patch's file is test-signed, or None if this is unknown until the file's signature is checked."""
    windows: tuple[str, ...] = ()

    @property
    def public(self) -> bool:
        """Whether Windows Update installs the patch. It does if the entry has neither a file nor a URL."""
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
    """State such as Installed, InstallPending, Superseded or Staged."""
    release_type: str = ""

    @property
    def build(self) -> Build | None:
        """The build in the name of a cumulative update's package, or None for any other package.

        The name of such a package contains no KB number (community.windows#421).
        """
        match = _ROLLUP.match(self.name)
        return (int(match[1]), int(match[2])) if match else None

    @property
    def kbs(self) -> frozenset[str]:
        """The KB numbers in the package's name."""
        return frozenset(f"KB{number}" for number in _KB_IN_PACKAGE.findall(self.name))

    @property
    def pending(self) -> bool:
        """Whether the package is waiting for a reboot."""
        return self.state.lower() in _PENDING


@dataclasses.dataclass(frozen=True, kw_only=True)
class HotFix:
    """A row of the output of Get-HotFix."""

    kb: str
    description: str = ""
    installed_on: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodePatches:
    """The reported patch state of a node."""

    windows: WindowsInfo
    hotfixes: t.Mapping[str, HotFix] = dataclasses.field(default_factory=dict)
    """Hotfixes by KB number."""
    packages: tuple[Package, ...] = ()
    logged: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Maps the KB number of each update that Windows Update logged as installed to the update's title."""
    secure_boot: bool = False
    test_signing: bool = False
    """Whether the system was started with test signing."""
    disabled: tuple[str, ...] = ()
    """Disabled services that an installation needs."""
    to_restore: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The original start types, by service name, of services whose start type a run changed and has not restored."""

    @property
    def build(self) -> Build:
        """Build and revision of the running Windows, such as (20348, 2700)."""
        return self.windows.build, self.windows.ubr

    @property
    def os_build(self) -> str:
        """Build and revision as text, such as `20348.2700`."""
        return show_build(self.build)

    @property
    def stack_pending(self) -> bool:
        """Whether the update stack itself is waiting for a reboot; until then, nothing may be installed."""
        return "servicing" in self.windows.pending_reboot or "update" in self.windows.pending_reboot

    @property
    def pending_packages(self) -> tuple[str, ...]:
        """Names of the packages that are waiting for a reboot."""
        return tuple(package.name for package in self.packages if package.pending)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchState:
    """The observed state of one patch."""

    status: Status
    why: str
    """Explanation for messages."""


def show_build(build: Build) -> str:
    """Return a build as text, such as `20348.2700`."""
    return f"{build[0]}.{build[1]}"


def judge(patch: Patch, node: NodePatches) -> PatchState:
    """Return the state of a patch according to the reported state of the node.

    Returns:
        The state. Its status is `to_install` if nothing shows that the patch is present, or if Windows does not load
        it because test signing is off.
    """
    if only_test_signing(patch, node):
        return PatchState(status="to_install", why="is installed, but test signing is off: Windows does not load it")
    return _listed(patch, node)


def only_test_signing(patch: Patch, node: NodePatches) -> bool:
    """Return whether a test-signed patch is installed but Windows does not load it."""
    return bool(patch.test_signed) and not node.test_signing and _listed(patch, node).status == "installed"


def _listed(patch: Patch, node: NodePatches) -> PatchState:
    if patch.windows and node.windows.nearest_version not in patch.windows:
        return PatchState(status="skipped", why=f"only for Windows Server {', '.join(patch.windows)}")
    if patch.build is not None and patch.build[0] != node.windows.build:
        why = f"it is for build {patch.build[0]}, but the node has {node.os_build}{_for_others(patch.build[0])}"
        return PatchState(status="not_applicable", why=why)
    state = _by_packages(patch, node) or _by_build(patch, node) or _by_hotfix(patch, node) or _by_log(patch, node)
    return state or PatchState(status="to_install", why="is not installed")


def _for_others(build: int) -> str:
    """Return the advice to limit a patch to one version of Windows, or an empty string if the build is unknown."""
    version = windows_versions.SUPPORTED.get(build)
    return f'; set windows: ["{version}"] in its entry, so that other nodes skip the patch' if version else ""


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
    # The hotfix is listed, but the node runs a different build: the patch is only staged, or it was removed.
    if node.stack_pending:
        return PatchState(status="needs_reboot", why=f"{patch.kb} is listed, but the node still has {node.os_build}")
    return None


def _by_log(patch: Patch, node: NodePatches) -> PatchState | None:
    """Return the state of a patch that only the log of Windows Update shows as installed, or None for any other patch.

    The log is used only for kinds of patches that no cmdlet lists. A logged patch of another kind may have been
    removed.
    """
    title = node.logged.get(patch.kb, "")
    if not title or not _UNLISTED.search(title):
        return None
    return PatchState(status="installed", why=f"Windows Update logged it as installed: {title}")
