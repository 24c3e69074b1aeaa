# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parts of the engine that brings a node to its resources: outcome.py is what a run returns.

Private to the collection.
"""
