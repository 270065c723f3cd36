# SPDX-License-Identifier: Apache-2.0
"""address_attacks.py LABEL...: allowed names below ip.hutch.test that resolve to what a gateway must not dial. The rule has the ports 80
and 7000. A label is what upstream/zone.py makes of it."""
import socket
import sys

from attack import MARK, deny, either, run

REQUEST = b"GET /" + MARK + b" HTTP/1.1\r\nHost: %s\r\n\r\n"


for label in sys.argv[1:]:
    name = f"{label}.ip.hutch.test"
    # of several addresses a good one may be dialled; of one that changes, the first
    claim = either if "-" in label else deny
    claim(f"{label}, port 80", 80, REQUEST % name.encode(), name=name)
    claim(f"{label}, port 7000", 7000, MARK, name=name)
    claim(f"{label} again, over IPv6", 7000, MARK, name=name, family=socket.AF_INET6)
run(24)
