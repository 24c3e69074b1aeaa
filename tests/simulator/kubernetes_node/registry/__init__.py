# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Registries of container images, for tests.

Start with `server.py`, which simulates a registry. `real.py` runs Debian's docker-registry instead.
"""
