"""A network of its own for a row, with nothing in it but loopback: no agent can reach its maker (Linux only).

Where that is not to be had the agents run on the machine's network; the table says so.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess

MARK = "HM_INTEROP_ALONE"
_SIOCSIFFLAGS, _UP_RUNNING = 0x8914, 0x41  # linux/sockios.h, linux/if.h


def prefix() -> list[str]:
    """What to put in front of a command to run it so; [] where it is not possible."""
    unshare = shutil.which("unshare")
    for flags in ("-n", "-rn"):
        if unshare and subprocess.run([unshare, flags, "true"], capture_output=True, check=False).returncode == 0:
            return [unshare, flags, "env", f"{MARK}=1"]
    return []


def loopback() -> None:
    """Switch loopback on, inside."""
    if os.environ.pop(MARK, ""):
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _UP_RUNNING))
