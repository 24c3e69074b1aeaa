#!/bin/sh
# Makes a virtual environment and installs a requirements file into it.
# usage: tests/venv.sh FOLDER REQUIREMENTS
#   PYTHON   the interpreter to use (default: the first on PATH that is new enough)
#   ANSIBLE  a narrower requirement, such as 'ansible>=13,<14', for tests on one version
set -eu
folder=$1
requirements=$2

new_enough='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
found=
for python in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14 python}; do
    if command -v "$python" >/dev/null 2>&1 && "$python" -c "$new_enough" 2>/dev/null; then
        found=$python
        break
    fi
done
if [ -z "$found" ]; then
    {
        echo "winkube.node needs Python 3.11 or newer with its venv module, and found none (looked at: ${PYTHON:-python3, python3.11 to python3.14, python})."
        echo "Install it (Debian, Ubuntu: apt-get install python3 python3-venv; Fedora, RHEL: dnf install python3.12), or name it: make venv PYTHON=/path/to/python3"
    } >&2
    exit 1
fi

# An interrupted attempt, or an environment whose interpreter was removed, is made anew.
if ! "$folder/bin/python" -c "import pip" 2>/dev/null; then
    echo "Making $folder with $found ($("$found" --version 2>&1))"
    # Not --clear: the folder also holds the link by which Ansible finds the collection.
    rm -rf "${folder:?}/bin" "${folder:?}/include" "${folder:?}/lib" "${folder:?}/lib64" "${folder:?}/pyvenv.cfg"
    "$found" -m venv "$folder"
fi

echo "Installing $requirements (the first time a download of 80 MB or more, then a minute or less)"
# uv is faster, but knows nothing of pip's configuration (mirrors, certificates): pip has the last word.
if command -v uv >/dev/null 2>&1 &&
    uv pip install --quiet --python "$folder/bin/python" -r "$requirements" ${ANSIBLE:+"$ANSIBLE"} </dev/null; then
    exit 0
fi
# --no-compile: the package ansible has 30,000 files, of which a run needs few; Python compiles those when it does.
exec "$folder/bin/python" -m pip install --quiet --no-input --prefer-binary --no-compile -r "$requirements" ${ANSIBLE:+"$ANSIBLE"} </dev/null
