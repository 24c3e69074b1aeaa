# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Container images: their documents, the store that containerd keeps them in, pulls and pushes.

Start with `puller.py`. `oci.py` has the documents, `store.py` what is kept, and `upstream.py` small images with the
names of upstream's.
"""
