# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse and create the name of an image release, and derive the version of the image in an Azure compute gallery.

A gallery version has the form Major.Minor.Patch. Each number is from 0 to 2,147,483,647, according to Azure's error
message, quoted in hashicorp/packer-plugin-azure#187. Leading zeros are possible: AKS' galleries use dates such as
202405.03.0. Source: Azure/AgentBaker, pkg/agent/datamodel/linux_sig_version.json.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
import subprocess

from ..values.errors import ResourceError

_NAME = re.compile(r"20[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])[.][0-9a-f]{7,64}")
"""The same regular expression as for the variable `release` in packer/variables.pkr.hcl."""
_LARGEST = 2**31 - 1
_ABBREVIATION = 8
"""Number of digits to which a commit's hash is shortened in a release's name."""
NO_COMMIT = "0" * _ABBREVIATION
"""The commit in a release's name if none is known. git writes zeros for an object that does not exist."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageRelease:
    """A release of an image, whose name has the form `YYYYMMDD.commithash`."""

    date: datetime.date
    commit: str

    @classmethod
    def parse(cls, name: str, where: str = "release") -> ImageRelease:
        """Parse the name of a release.

        Args:
            name: the name of the release, such as 20261126.1a2b3c4d.
            where: the option that contains the name, for messages.

        Raises:
            ResourceError: the name has a different form, or does not begin with a date.
        """
        day, dummy, commit = name.partition(".")
        try:
            date = datetime.datetime.strptime(day if _NAME.fullmatch(name) else "", "%Y%m%d").date()
        except ValueError:
            raise ResourceError(where, name, "expected YYYYMMDD.commithash, such as 20261126.1a2b3c4d") from None
        return cls(date=date, commit=commit)

    def __str__(self) -> str:
        return f"{self.date:%Y%m%d}.{self.commit}"

    def gallery_version(self, number: int) -> str:
        """Return the version of the gallery image: `YYYY.MMDD.N`.

        Args:
            number: number that distinguishes images built on the same day.

        Raises:
            ResourceError: Azure does not accept the number.
        """
        if not 0 <= number <= _LARGEST:
            raise ResourceError("number", number, f"expected 0 to {_LARGEST}")
        return f"{self.date:%Y.%m%d}.{number}"


def commit_of(directory: str) -> tuple[str, bool]:
    """Return the commit that is checked out in a folder, and whether files that git tracks have been changed.

    Args:
        directory: a folder on the controller.

    Returns:
        The beginning of the commit's hash (empty if the folder is not in a git repository, or git is not installed),
        and whether files have been changed.
    """
    # `--exclude=*` leaves out tags, so that the result is always a hash.
    command = ["git", "-C", directory, "describe", "--always", "--dirty", "--exclude=*", f"--abbrev={_ABBREVIATION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return "", False
    commit, dirty, dummy = done.stdout.strip().partition("-dirty")
    return commit, bool(dirty)
