# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plan a cleanup: the removals of its scope, and the repair of what an earlier cleanup left behind (no I/O)."""

from __future__ import annotations

import dataclasses

from ..facts import services
from ..facts import uplink as hns_uplink
from ..facts.node_facts import HnsFacts
from .plan import CleanupPlan, CleanupRequest
from .plan_networks import is_overlay, plan_networks
from .plan_stale import plan_stale


def make_plan(request: CleanupRequest, facts: HnsFacts) -> CleanupPlan:
    """Return the plan of a cleanup.

    Args:
        request: a request that `check_request` accepted.
        facts: the state of HNS that was observed on the node.
    """
    plan = plan_stale(request, facts) if request.scope == "stale" else plan_networks(request, facts)
    plan = _with_repairs(plan, facts)
    stopped = {name.lower() for name in request.stays_stopped}
    return dataclasses.replace(plan, start=tuple(name for name in plan.start if name.lower() not in stopped))


def _with_repairs(plan: CleanupPlan, facts: HnsFacts) -> CleanupPlan:
    journal = facts.journal
    if journal is None:
        return plan
    stopped = {service.name for service in facts.services if not service.running}
    installed = {service.name for service in facts.services}
    left = [name for name in journal.services if name in stopped]
    lost = [uplink for uplink in journal.uplinks if hns_uplink.lost(uplink, facts.adapters)]
    saved = {uplink.mac for uplink in journal.uplinks}
    gone = {(route.destination, route.next_hop) for route in plan.routes}
    return dataclasses.replace(
        plan,
        # Services that ran before an interrupted cleanup must run at the end of this one.
        start=services.start_order(
            {*plan.start, *(name for name in journal.services if name in installed)}, overlay=is_overlay(facts)
        ),
        uplinks=(
            *(hns_uplink.without_routes(uplink, gone) for uplink in journal.uplinks),
            *(uplink for uplink in plan.uplinks if uplink.mac not in saved),
        ),
        repair=(
            *(f"service {name} was left stopped" for name in left),
            *(f"{uplink.alias} has lost its static address" for uplink in lost),
        ),
        journal=journal,
    )
