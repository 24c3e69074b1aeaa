# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lifecycle of a machine: join, maintenance, upgrade, replacement, reset and generalization.

join.py joins a machine, join_state.py reads whether it has joined, join_renewal.py undoes a join, and generalization.py
turns a machine into an image.
"""
