# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Use short-lived pods to check the pod network of a cluster. Read plan.py first, then run.py.

| module | what it does |
|---|---|
| `options` | the options of the network_check module (no I/O) |
| `nodes` | which nodes take part, and why other nodes do not (no I/O) |
| `plan` | which node connects to which node, and how (no I/O) |
| `objects` | the namespace, pods, Services and network policy of a run (no I/O) |
| `outcome` | what the status of a probe's container means (no I/O) |
| `policy_engines` | which programs enforce network policies on Linux and Windows (no I/O) |
| `leftovers` | which namespaces of earlier runs may be deleted (no I/O) |
| `api` | the requests to the cluster's API |
| `pool` | runs many pods, a limited number at a time |
| `connections` | server pods, services, and the probes that connect to them |
| `policies` | whether a network policy blocks connections that work without it |
| `run` | the whole run, including the removal of its namespace |
"""
