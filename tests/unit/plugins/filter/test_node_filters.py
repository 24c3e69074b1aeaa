# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.winkube.node.plugins.filter.node import FilterModule

FILTERS: dict[str, t.Any] = FilterModule().filters()


def test_errors_of_values_are_ansibles() -> None:
    with pytest.raises(AnsibleFilterError, match=r"expected MAJOR\.MINOR\.PATCH"):
        FILTERS["plain_version"]("latest")
