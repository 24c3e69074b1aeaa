# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The interpreter that runs a syntax tree: scopes, streams, statements, expressions, pipelines and functions."""
