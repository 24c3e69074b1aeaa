# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A pytest fixture for a container registry. Enable it with `pytest_plugins = ["simulator.pytest_registry"]`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulator.kubernetes_node.registry.real import RealRegistry, unavailable


@pytest.fixture(scope="session")
def real_registry() -> Iterator[RealRegistry]:
    """Yield a real container registry, which is empty until a test calls `fill`.

    If no registry program is installed, skip the test.
    """
    if reason := unavailable():
        pytest.skip(reason)
    with RealRegistry() as found:
        yield found
