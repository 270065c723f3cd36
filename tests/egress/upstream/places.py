# SPDX-License-Identifier: Apache-2.0
"""Where everything of the fake world is: addresses that count as public, and those that nobody may reach through a gateway."""
import ipaddress

WEB = ("45.45.45.10", "2a09:beef::10")
RAW = ("45.45.45.20", "2a09:beef::20")
REDIS = ("45.45.45.30",)
OTHER = ("45.45.45.40", "2a09:beef::40")  # no rule of any test names it
STREAM = ("45.45.45.50", "2a09:beef::50")
PROXY = ("45.45.45.60",)
NAMESERVER = ("127.0.0.53", "45.45.45.53")

# Every class of address that a gateway must refuse. Each of them listens, and tells when it was reached.
TRAPS = (
    "127.0.0.1", "127.1.2.3", "10.0.0.1", "10.255.255.254", "172.16.0.1", "172.31.255.1", "192.168.0.1", "192.168.255.1",
    "169.254.169.254", "169.254.0.1", "169.254.170.2", "100.64.0.1", "100.100.100.200", "100.127.255.1", "192.0.0.1", "192.0.0.192",
    "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.1", "192.88.99.1",
    "::1", "fd00:ec2::254", "fc00::1", "fdff::1", "fec0::1", "2001:db8::1", "3fff::1", "100::1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:7f00:1::1", "2002:a9fe:a9fe::1",
    "2002:a00:1::1",
    "2001:0:7f00:1::1", "2001::1", "::7f00:1", "::a9fe:a9fe", "fd20:ce::254", "2001:10::1", "2001:20::1",
)  # fmt: skip
# Refused as well, but no socket can be bound to them: what reaches them arrives at 127.0.0.1, ::1 or nowhere.
UNBOUND = (
    "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "ff02::1", "ff05::2", "fe80::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "::ffff:0.0.0.0",
)  # fmt: skip


def hexed(address):
    """An address as a label of a name below ip.hutch.test: see zone.py."""
    return ipaddress.ip_address(address).packed.hex()


def all_bound():
    return WEB + RAW + REDIS + OTHER + STREAM + PROXY + NAMESERVER + TRAPS
