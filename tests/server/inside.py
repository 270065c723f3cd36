#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""inside.py PORT SOCKET ADDRESS... [everywhere]: tries to reach the API; tells how many ways led to it, and fails when none did.
With the word `everywhere` each socket that lies in /run or /tmp is tried, too: not for the host, whose sockets are others'."""
import os
import socket
import sys

PORT, PATH, *ADDRESSES = sys.argv[1:]
ASK = b"GET /api/inside-marker HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def ways():
    for address in set(ADDRESSES) - {"everywhere"}:
        yield socket.AF_INET6 if ":" in address else socket.AF_INET, (address, int(PORT))
    for path in (PATH, "/proc/1/root" + PATH, "\0" + PATH):
        yield socket.AF_UNIX, path
    for directory in ("/run", "/var/run", "/tmp") if "everywhere" in ADDRESSES else ():
        for name in os.listdir(directory) if os.path.isdir(directory) else ():
            yield socket.AF_UNIX, os.path.join(directory, name)


def gets_through(family, address):
    try:
        with socket.socket(family) as link:
            link.settimeout(2)
            link.connect(address)
            link.sendall(ASK)
            return link.recv(4096).startswith(b"HTTP/")
    except (OSError, ValueError):
        return False


tried = [gets_through(*way) for way in ways()]
print(f"{sum(tried)} of {len(tried)} ways led to it")
sys.exit(0 if any(tried) else 1)
