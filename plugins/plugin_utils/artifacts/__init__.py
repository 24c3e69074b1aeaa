# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Artifacts: their kinds, where each is found and what verifies it (docs/caches.md): start at catalogue.py."""
