#!/usr/bin/env bash
# Makes the virtual environment $1 with $PYTHON (3.10 or newer); on Debian without python3-venv, installs that first.
set -eu
venv=$1
python=${PYTHON:-python3}

if ! command -v "$python" >/dev/null; then
    echo "make: '$python' was not found. Install Python 3.10 or newer, or name one: make PYTHON=/path/to/python3" >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "make: $("$python" --version) is too old, 3.10 or newer is needed: make PYTHON=/path/to/python3.11" >&2
    exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "== installing python3-venv (this Python has no ensurepip)"
    "$(dirname "$0")/apt.sh" python3-venv || {
        echo "make: install python3-venv (Debian, Ubuntu: apt-get install python3-venv), then try again." >&2
        exit 1
    }
fi
"$python" -m venv "$venv"
# Dependency groups need pip 25.1.
"$venv/bin/python" -m pip install --quiet --upgrade 'pip>=25.1'
