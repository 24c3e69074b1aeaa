# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulated Windows servers that speak real WSMan and PSRP.

Read README.md first. The table there lists the packages in the order of imports: each package imports only packages
below it.
"""
