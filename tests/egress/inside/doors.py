# SPDX-License-Identifier: Apache-2.0
"""Other ways out of a sandbox whose rule is raw.hutch.test:7000. Prints BAD for each that seems open; the fake world knows better."""
import errno
import itertools
import os
import socket
import struct
import time

MARK = os.urandom(16).hex().encode()
ADDRESSES = (
    "45.45.45.10", "45.45.45.20", "45.45.45.40", "45.45.45.53", "127.0.0.53", "169.254.169.254", "10.0.0.1", "192.168.0.1",
    "198.18.0.1", "198.18.77.77", "198.19.255.254", "255.255.255.255", "224.0.0.1",
    "2a09:beef::10", "2a09:beef::20", "2a09:beef::40", "fd68:7574:6368::1", "fd68:7574:6368::4444", "64:ff9b::2d2d:2d14",
    "::ffff:45.45.45.20", "fe80::1%1", "ff02::1%1",
)  # fmt: skip


def bad(what):
    print(f"BAD {what}")


def socket_for(address, kind):
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)


def stream(address, port):
    with socket_for(address, socket.SOCK_STREAM) as sock:
        sock.settimeout(2)
        try:
            sock.connect((address, port))
            sock.sendall(MARK)
            answer = sock.recv(100)
        except OSError as error:
            return error.errno or errno.ETIMEDOUT
        return answer


def addresses():
    for address, port in itertools.product(ADDRESSES, (22, 80, 443, 7000)):
        start = time.monotonic()
        end = stream(address, port)
        took = time.monotonic() - start
        if isinstance(end, bytes) and end:
            bad(f"{address}:{port} answered {end[:20]}")
        if took > 1:
            bad(f"{address}:{port} took {took:.1f} s, {end}")


def ports():
    """An allowed name on ports that no rule has."""
    where = socket.getaddrinfo("raw.hutch.test", None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
    for port in (22, 25, 53, 80, 443, 5432, 6999, 7001, 8080, 65535):
        start = time.monotonic()
        end = stream(where, port)
        if isinstance(end, bytes) and end:
            bad(f"raw.hutch.test:{port} answered {end[:20]}")
        if time.monotonic() - start > 1:
            bad(f"raw.hutch.test:{port} took {time.monotonic() - start:.1f} s")


def datagrams():
    where = socket.getaddrinfo("raw.hutch.test", None, 0, socket.SOCK_DGRAM)
    targets = [entry[4][0] for entry in where] + list(ADDRESSES)
    for address, port in itertools.product(targets, (53, 123, 443, 5353, 7000)):
        with socket_for(address, socket.SOCK_DGRAM) as sock:
            try:
                sock.sendto(MARK, (address, port))
            except OSError:
                pass


def kinds():
    """Sockets that must not exist at all."""
    families = {"packet": 17, "netlink generic": 16, "vsock": 40, "can": 29, "bluetooth": 31, "alg": 38, "xdp": 44, "tipc": 30,
        "smc": 43, "rds": 21}
    for what, family in families.items():
        for kind in socket.SOCK_RAW, socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET:
            try:
                socket.socket(family, kind, 16 if family == 16 else 0).close()
                bad(f"a socket of {what}, kind {kind}")
            except OSError:
                pass
    for family, protocol in itertools.product((socket.AF_INET, socket.AF_INET6), (0, 1, 6, 17, 41, 47, 58, 255)):
        try:
            socket.socket(family, socket.SOCK_RAW, protocol).close()
            bad(f"a raw socket, family {family}, protocol {protocol}")
        except OSError:
            pass
    for family, (kind, protocol) in itertools.product((socket.AF_INET, socket.AF_INET6),
        ((5, 132), (2, 132), (6, 33), (2, 136), (1, 262))):
        try:  # SCTP, DCCP, UDP-Lite, MPTCP: where the kernel has them, they lead nowhere
            with socket.socket(family, kind, protocol) as sock:
                sock.settimeout(0.3)
                sock.connect(("45.45.45.20" if family == socket.AF_INET else "2a09:beef::20", 7000))
                sock.send(MARK)
                bad(f"family {family} kind {kind} protocol {protocol} went out")
        except OSError:
            pass


def routes():
    """The network cannot be changed from inside."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.settimeout(1)
        body = struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 4, 0, 1, 0) + struct.pack("=HHI", 8, 4, 1)
        sock.send(struct.pack("=IHHII", 16 + len(body), 24, 0x605, 1, 0) + body)
        code = struct.unpack("=i", sock.recv(4096)[16:20])[0]
        if code == 0:
            bad("a default route was added")


def own_servers():
    """A server of the sandbox's own, on a port that the gateway serves for another address."""
    for family, address in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "0.0.0.0"):
        with socket.socket(family, socket.SOCK_STREAM) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                server.bind((address, 7000))
                server.listen()
            except OSError as error:
                if address != "0.0.0.0":
                    bad(f"own server on {address}:7000: {error}")
                continue
            with socket.socket(family, socket.SOCK_STREAM) as client:
                client.connect((address, 7000))
                if client.getpeername()[1] != 7000:
                    bad("own server is another's")
        with socket.create_connection(("raw.hutch.test", 7000), 2) as there:
            there.sendall(b"to the real one")


for part in addresses, ports, datagrams, kinds, routes, own_servers:
    part()
print(f"MARK {MARK.decode()}")
