# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Get-FileHash."""

from __future__ import annotations

import hashlib


def test_hashes_are_upper_case_and_of_the_content(shell):
    shell.machine.files.write_bytes(r"C:\x.bin", b"content")
    for algorithm in ("SHA256", "SHA512"):
        found = shell.one("Get-FileHash", LiteralPath=[r"C:\x.bin"], Algorithm=algorithm)
        assert found["Hash"] == hashlib.new(algorithm, b"content").hexdigest().upper()
    assert shell.one("Get-FileHash", Path=[r"C:\x*.bin"])["Algorithm"] == "SHA256"


def test_a_missing_file_is_an_error_and_a_folder_has_no_hash(shell):
    error = shell.error("Get-FileHash", LiteralPath=[r"C:\none"])
    assert error.error_id == "PathNotFound,Microsoft.PowerShell.Commands.ResolvePathCommand"
    assert shell("Get-FileHash", Path=[r"C:\Windows"]) == []
    wrong = shell.error("Get-FileHash", Path=[r"C:\Windows"], Algorithm="CRC32")
    assert wrong.category == "InvalidData"
