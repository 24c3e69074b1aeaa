# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plans that tests make with `resource_answers.planned` are compared with golden files."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from unit import change_texts, resource_answers


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> t.Iterator[None]:
    """Compare the plans of a test after it has passed."""
    resource_answers.PLANS.clear()
    yield
    # Examples of hypothesis differ each time.
    if resource_answers.PLANS and not hasattr(getattr(item, "function", None), "hypothesis"):
        module = item.path.relative_to(Path(__file__).parent).with_suffix("").as_posix()
        change_texts.check(module, item.name, resource_answers.PLANS)
