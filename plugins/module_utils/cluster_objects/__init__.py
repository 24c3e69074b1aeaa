# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Apply a set of Kubernetes objects with server-side apply, and delete the ones that are no longer in the set.

Read run.py first.

| module | what it does |
|---|---|
| `kinds` | paths of objects in the API (no I/O) |
| `inventory` | the ConfigMap that records which objects a set contains (no I/O) |
| `changes` | what differs between two states of an object (no I/O) |
| `api` | the requests to the cluster |
| `run` | the whole run |
"""
