# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What travels between the controller and a node: begin with messages.py. docs/wire.md is its specification."""
