# SPDX-License-Identifier: Apache-2.0
"""What the fake name server knows. answer(name, type) gives records, or a word for something it does instead."""
import ipaddress

from places import OTHER, RAW, REDIS, STREAM, WEB, PROXY

A, CNAME, AAAA = 1, 5, 28


def host(addresses):
    return {A: [a for a in addresses if ":" not in a], AAAA: [a for a in addresses if ":" in a]}


HOSTS = {
    "web.hutch.test": host(WEB),
    "shared.hutch.test": host(WEB),  # another name on the same address
    "four.hutch.test": host(WEB[:1]),
    "six.hutch.test": host(WEB[1:]),
    "git.hutch.test": host(WEB),
    "pypi.hutch.test": host(WEB),
    "raw.hutch.test": host(RAW),
    "redis.hutch.test": host(REDIS),
    "stream.hutch.test": host(STREAM),
    "other.hutch.test": host(OTHER),
    "proxy.hutch.test": host(PROXY),
    "dead.hutch.test": host(("45.45.45.77",)),  # nobody has this address
    "half.hutch.test": host(("45.45.45.10", "2a09:beef::77")),  # the IPv6 one answers nothing
    "big.hutch.test": host(WEB),
    "forged.hutch.test": host(WEB),
    "under_score.hutch.test": host(WEB),
}
# Names below these have the addresses, whatever they are.
WILD = {"many.hutch.test": host(WEB), "wild.hutch.test": host(RAW), "hutch.test": host(OTHER), "evil.test": host(OTHER)}
ALIASES = {
    "alias.hutch.test": "web.hutch.test",
    "chain.hutch.test": "chain2.hutch.test",
    "chain2.hutch.test": "web.hutch.test",
    "loop.hutch.test": "loop.hutch.test",
    "inward.hutch.test": "7f000001.ip.hutch.test",
}
MISHAPS = {
    "silent.hutch.test": "silent",
    "servfail.hutch.test": "servfail",
    "nx.hutch.test": "nxdomain",
    "garbage.hutch.test": "garbage",
    "empty.hutch.test": "empty",
}
flips = {}


def addresses_in(label, kind):
    """7f000001-2d2d2d14 are two addresses; flip-A-B is A when it is asked for the first time and B from then on."""
    parts = label.split("-")
    if parts[0] == "flip":
        count = flips[label, kind] = flips.get((label, kind), 0) + 1
        parts = parts[1:2] if count == 1 else parts[2:]
    return host([str(ipaddress.ip_address(bytes.fromhex(part))) for part in parts])


def answer(name, kind):
    """(records, word): records are (owner, type, value)."""
    if name in MISHAPS:
        return [], MISHAPS[name]
    records = []
    owner = name
    while owner in ALIASES and len(records) < 4:
        records.append((owner, CNAME, ALIASES[owner]))
        owner = ALIASES[owner]
    if owner in ALIASES:  # of itself
        return records, ""
    found = HOSTS.get(owner)
    if not found and owner.endswith(".ip.hutch.test"):
        try:
            found = addresses_in(owner.split(".")[0], kind)
        except ValueError:
            return [], "nxdomain"
    for base, value in WILD.items():
        if not found and owner.endswith("." + base):
            found = value
    if not found:
        return records, "" if records else "nxdomain"
    # an address in a form that only IPv6 has is what the question for AAAA brings
    return records + [(owner, kind, value) for value in found.get(kind, [])], ""
