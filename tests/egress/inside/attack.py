# SPDX-License-Identifier: Apache-2.0
"""What every attacker inside a sandbox does: send bytes that carry a marker, see what comes back, and say so, a row an attack.

    deny(variant, port, *pieces)      must not arrive
    passes(variant, port, *pieces)    must arrive: what is strict must still let the good ones through
    either(variant, port, *pieces)    nothing is claimed about it but that it ends

In the pieces MARK stands for the marker. They are sent one after the other; a number among them is a pause in seconds, and ANSWER waits
until something was received, END says that nothing more will be sent. Attacks are gathered first; run() carries all of them out,
    several at a time.
"""
import concurrent.futures
import json
import os
import socket
import struct
import sys
import time

MARK = b"M" * 32
ANSWER, END = "answer", "end"
NAME = "raw.hutch.test"
attacks = []


def add(must, variant, port, *pieces, name=NAME, **more):
    attacks.append({"must": must, "variant": variant, "port": port, "pieces": pieces, "name": name, **more})


def deny(variant, port, *pieces, **more):
    add("deny", variant, port, *pieces, **more)


def passes(variant, port, *pieces, **more):
    add("pass", variant, port, *pieces, **more)


def either(variant, port, *pieces, **more):
    add("either", variant, port, *pieces, **more)


def converse(sock, pieces, marker):
    received = b""
    for piece in pieces:
        if piece == ANSWER:
            data = sock.recv(65536)
            if not data:
                return received, "closed"
            received += data
        elif piece == END:
            sock.shutdown(socket.SHUT_WR)
        elif isinstance(piece, (int, float)):
            time.sleep(piece)
        else:
            sock.sendall(piece.replace(MARK, marker))
    while data := sock.recv(65536):
        received += data
        if len(received) > 1 << 20:
            break
    return received, "closed"


def name_of(received, end):
    if received.startswith(b"HTTP/1.1 403"):
        return "403"
    if received.startswith(b"HTTP/1.1 ") and b" 403 " in received:
        return "answer, then 403"
    return f"answer, then {end}" if received else end


def attempt(what):
    marker = what.get("marker") or os.urandom(16).hex().encode()
    start, received, end = time.monotonic(), b"", "closed"
    sock = None
    try:
        family, kind, _, _, where = socket.getaddrinfo(what["name"], what["port"], what.get("family", 0), socket.SOCK_STREAM)[0]
        sock = socket.socket(family, kind)
        sock.settimeout(4)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect(where)
        received, end = converse(sock, what["pieces"], marker)
    except socket.gaierror:
        end = "no name"
    except ConnectionRefusedError:
        end = "refused"
    except (ConnectionResetError, BrokenPipeError):
        end = "reset"
    except TimeoutError:
        end = "silence"
    except OSError as error:
        end = f"error {error.errno}"
    finally:
        if sock:
            sock.close()
    row = {"variant": what["variant"], "must": what["must"], "marker": marker.hex(), "outcome": name_of(received, end)}
    row["ms"] = int(1000 * (time.monotonic() - start))
    row.update({key: what[key] for key in ("sees", "within_ms") if key in what})
    return row


def run(at_once=12):
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for row in pool.map(attempt, attacks):
            print(json.dumps(row))
    sys.stdout.flush()


def ask(packet, server="198.18.0.1", timeout=2.0):
    """A packet to the sandbox's name server, as it is; what it answers, or None."""
    with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(timeout)
        sock.connect((server, 53))
        try:
            sock.send(packet)
            return sock.recv(4096)
        except OSError:
            return None


def question(name, kind=1, ident=7, flags=0x0100, cls=1, count=1):
    """name is bytes: labels between dots, whatever is in them."""
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b".")) + b"\0"
    return struct.pack("!HHHHHH", ident, flags, count, 0, 0, 0) + labels + struct.pack("!HH", kind, cls)


def reply_code(packet):
    """The response code and the number of answers."""
    return (packet[3] & 15, struct.unpack("!H", packet[6:8])[0]) if packet and len(packet) >= 12 else None
