# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What runs on a Windows node of Kubernetes, one package per program or service.

Start with `kubelet`: it shows how a node and its pods come about, and it uses most of the other packages.
"""
