# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows updates, their effects, and the updates that they supersede. `data/updates.json` names the sources."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data" / "updates.json"
_KEY = "31bf3856ad364e35~amd64~~"
CUMULATIVE, DOTNET, SERVICING_STACK = "cumulative", "dotnet", "servicing-stack"
# From this month on, Microsoft uses short titles: "2025-12 Security Update (KB5072033) (26100.7462)".
_SHORT_TITLES = "2025-11"
_MB_OF_A_CUMULATIVE_UPDATE = 700


@dataclass(frozen=True)
class Update:
    """A Windows update.

    Args:
        kb: the KB article, such as `KB5048654`.
        title: the title in Windows Update; by default derived from the article.
        category: the classification in Windows Update (`Security Updates`, `Definition Updates` …).
        product: the product category in Windows Update.
        date: the date of publication, in ISO 8601.
        builds: the builds of Windows that the update applies to; empty for all builds.
        ubr: for a cumulative update, the fourth part of Windows' version after its installation; otherwise 0.
        needs_ubr: the minimum UBR that the update requires.
        chain, rank: an update supersedes all updates in the same chain that have a lower rank.
        supersedes: the articles of further updates that the update supersedes.
        reboots: the number of reboots until the update is installed: 0, 1 or 2.
        hot_fix: the article that Get-HotFix shows for the update; empty if the update is not shown.
        package: the name in the component store; empty if the update is never in the store.
        checkpoints: checkpoint updates (article, UBR) that must already be installed, or be in the folder of the
            update's file.
        seconds: the duration of the installation in simulated seconds; None for the machine's setting.
        disk_mb: the free space that the installation needs, in MB.
        exit_code: the exit code of the update's .exe, if it is neither 0 nor 3010.
        test_signed: whether the update has files with a test signature, which Windows loads only with test signing.
    """

    kb: str
    title: str = ""
    category: str = "Security Updates"
    product: str = ""
    date: str = "2026-01-01"
    builds: tuple[int, ...] = ()
    ubr: int = 0
    needs_ubr: int = 0
    chain: str = ""
    rank: int = 0
    supersedes: tuple[str, ...] = ()
    reboots: int = 1
    hot_fix: str = "same"
    package: str = "same"
    checkpoints: tuple[tuple[str, int], ...] = ()
    seconds: float | None = None
    disk_mb: int = 10
    exit_code: int | None = None
    test_signed: bool = False

    def __post_init__(self) -> None:
        """Derive missing fields from the KB article and the UBR."""
        build = self.builds[0] if self.builds else 0
        defaults: dict[str, object] = {}
        if self.ubr and not self.chain:
            defaults |= {"chain": CUMULATIVE, "rank": self.ubr}
        if self.hot_fix == "same":
            defaults["hot_fix"] = self.kb
        if self.package == "same":
            # The name of a cumulative update does not contain its article (ansible-collections/community.windows#421).
            cumulative = f"Package_for_RollupFix~{_KEY}{build}.{self.ubr}.1.0"
            defaults["package"] = cumulative if self.ubr else f"Package_for_{self.kb}~{_KEY}10.0.1.0"
        if not self.title:
            defaults["title"] = f"Update for Windows Server ({self.kb})"
        for name, value in defaults.items():
            object.__setattr__(self, name, value)

    @property
    def id(self) -> str:
        """The update's identity in Windows Update."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"windows-update:{self.kb}:{self.builds}"))

    def replaces(self, other: Update) -> bool:
        """Return whether this update contains or supersedes another update."""
        if other.kb in self.supersedes:
            return True
        same_builds = not self.builds or not other.builds or bool(set(self.builds) & set(other.builds))
        return bool(self.chain) and self.chain == other.chain and same_builds and self.rank > other.rank

    def document(self) -> dict[str, Any]:
        """Return the update as JSON data."""
        return asdict(self)


def read(document: Mapping[str, Any]) -> Update:
    """Read an update from JSON data, for example from a fleet file.

    Raises:
        ValueError: a key is unknown, or the KB article is missing or malformed.
    """
    known = {field.name for field in fields(Update)}
    if unknown := document.keys() - known:
        raise ValueError(
            f"expected only the keys {', '.join(sorted(known))} in an update, got {', '.join(sorted(unknown))}"
        )
    if not re.fullmatch(r"KB\d+", str(document.get("kb", ""))):
        raise ValueError(f"expected an article such as KB5048654 for an update's key `kb`, got {dict(document)!r}")
    values = dict(document)
    for name in ("builds", "supersedes"):
        if name in values:
            values[name] = tuple(values[name])
    if "checkpoints" in values:
        values["checkpoints"] = tuple((str(kb), int(ubr)) for kb, ubr in values["checkpoints"])
    return Update(**values)


def for_build(build: int) -> tuple[Update, ...]:
    """Return the updates in the catalog for a build of Windows, oldest first."""
    return tuple(update for update in _catalogue() if not update.builds or build in update.builds)


def find(kb: str, build: int | None = None) -> Update | None:
    """Return the update with a given KB article from the catalog, or None if the catalog does not contain it.

    Args:
        build: the build of Windows to which the update must apply; None for any build.
    """
    found = [update for update in _catalogue() if update.kb == kb]
    return next((update for update in found if build is None or not update.builds or build in update.builds), None)


def installed_at_first(build: int) -> list[str]:
    """Return the KB articles of the updates that are installed on a new machine with the given build of Windows."""
    return list(_data()["installed"].get(str(build), []))


def newest(updates: Iterable[Update]) -> list[Update]:
    """Return those of the given updates that no other given update supersedes."""
    every = list(updates)
    return [update for update in every if not any(other.replaces(update) for other in every)]


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    return found


@cache
def _catalogue() -> tuple[Update, ...]:
    data = _data()
    found: list[Update] = []
    for build, product in data["products"].items():
        found += [_cumulative(int(build), product, *entry) for entry in data["cumulative"][build]]
        found += [_dotnet(int(build), product, entry) for entry in data["dotnet"][build]]
        found += [_servicing_stack(int(build), product, *entry) for entry in data["servicing_stacks"][build]]
    # Updates that need no reboot, and appear neither in Get-HotFix nor in the component store.
    found += [
        Update(**entry, reboots=0, hot_fix="", package="", chain=entry["kb"], rank=1, disk_mb=200)
        for entry in data["other"]
    ]
    return tuple(sorted(found, key=lambda update: (update.date, update.kb)))


def _cumulative(build: int, product: Mapping[str, str], kb: str, ubr: int, date: str) -> Update:
    month = date[:7]
    long = f"{month} Cumulative Update for {product['long']} ({kb})"
    return Update(
        kb,
        long if month < _SHORT_TITLES else f"{month} Security Update ({kb}) ({build}.{ubr})",
        product=product["category"],
        date=date,
        builds=(build,),
        ubr=ubr,
        checkpoints=tuple((name, at) for name, at in _data()["checkpoints"].get(str(build), []) if at < ubr),
        disk_mb=_MB_OF_A_CUMULATIVE_UPDATE,
    )


def _dotnet(build: int, product: Mapping[str, str], entry: Mapping[str, str]) -> Update:
    month = entry["date"][:7]
    return Update(
        entry["kb"],
        f"{month} Cumulative Update for .NET Framework {entry['versions']} for {product['dotnet']} ({entry['kb']})",
        product=product["category"],
        date=entry["date"],
        builds=(build,),
        chain=DOTNET,
        rank=int(entry["date"].replace("-", "")),
        hot_fix=entry["child"],
        package=entry["package"],
        disk_mb=100,
    )


def _servicing_stack(build: int, product: Mapping[str, str], kb: str, revision: int, date: str) -> Update:
    """Return a servicing stack update. It is part of a cumulative update and is never offered separately."""
    return Update(
        kb,
        f"{date[:7]} Servicing Stack Update for {product['long']} ({kb})",
        product=product["category"],
        date=date,
        builds=(build,),
        chain=SERVICING_STACK,
        rank=revision,
        reboots=0,
        package=f"Package_for_ServicingStack_{revision}~{_KEY}{build}.{revision}.1.0",
    )
