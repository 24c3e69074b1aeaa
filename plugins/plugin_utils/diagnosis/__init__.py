# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find out why a node is not Ready. Start at diagnose.py. The known causes are in data/node_causes.yml."""
