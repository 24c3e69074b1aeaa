# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Container images: their JSON documents, containerd's image store, pulls and pushes.

Read `puller.py` first. `oci.py` contains the documents, `store.py` contains the store, and `upstream.py` contains small
images with the names of real images.
"""
