# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The copy of the checkout in which files are changed and tests run. The checkout itself is never changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mutation.mutants import Mutant

COLLECTION = Path("ansible_collections", "winkube", "node")


def git(root: Path, *arguments: str) -> str:
    """Return what git prints.

    Args:
        root: the folder where git runs.
        arguments: the arguments of git.

    Raises:
        subprocess.CalledProcessError: git failed, and has printed the reason on standard error.
    """
    return subprocess.run(["git", *arguments], cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout


def files_of(root: Path) -> list[str]:
    """Return the existing files of a checkout, including untracked files, but without ignored files."""
    listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted(path for path in set(listed.split("\0")) if path and (root / path).is_file())


class Workplace:
    """A copy of the checkout.

    Args:
        root: the folder of the copy.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made = 0

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """Change a file within the `with` block."""
        path = self.root / mutant.path
        text, before = path.read_text(encoding="utf-8"), path.stat()
        self._made += 1
        try:
            path.write_text(mutant.apply(text), encoding="utf-8")
            # Python checks only the file's time in seconds and its size to decide whether compiled code is current.
            os.utime(path, (before.st_atime, before.st_mtime + self._made))
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, (before.st_atime, before.st_mtime))


@contextmanager
def copy_of(root: Path) -> Iterator[Workplace]:
    """Copy a checkout to a temporary folder where Ansible finds it as the collection, and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="winkube-mutants-") as folder:
        place = Path(folder) / COLLECTION
        for path in files_of(root):
            target = place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / path, target, follow_symlinks=False)
        # Some tests get the list of files from git.
        git(place, "init", "--quiet")
        git(place, "add", "--all")
        yield Workplace(place)
