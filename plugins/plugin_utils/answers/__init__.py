# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Answers of nodes checked before anything reads them: types, sizes, and that they were asked for.

Private to the collection.
"""
