# SPDX-License-Identifier: Apache-2.0
"""Questions to the sandbox's name server that are no good: nothing of them may be asked upstream, and each ends at once. Prints a line
for each that was answered as if the name were allowed; the rules have raw.hutch.test and *.wild.hutch.test."""
import os
import random
import socket
import struct
import time

from attack import ask, question, reply_code

DENIED = [
    b"other.hutch.test", b"hutch.test", b"test", b"raw", b"raw.hutch", b"raw.hutch.test.evil.test", b"evilraw.hutch.test",
    b"evil-raw.hutch.test", b"x.raw.hutch.test",
    b"wild.hutch.test", b"evilwild.hutch.test", b"a.wild.hutch.test.evil.test", b"a.evilwild.hutch.test", b"raw.hutch.test\0.evil.test",
    b"raw\0.hutch.test", b"raw.hutch.test\0",
    b"raw\x2ehutch.test\x00", "ｒａｗ.hutch.test".encode(), "raw.hutch.tést".encode(), "räw.hutch.test".encode(), b"[raw.hutch.test]",
    b"raw hutch.test", b" raw.hutch.test", b"raw.hutch.test ",
    b"*.wild.hutch.test", b"*", b"127.0.0.1", b"2130706433", b"0x7f000001", b"0177.0.0.1", b"45.45.45.20", b"1", b"localhost",
    b"metadata.google.internal", b"169.254.169.254",
    b"a/../raw.hutch.test", b"raw.hutch.test/", b"user@raw.hutch.test", b"raw.hutch.test:80", b"http://raw.hutch.test",
    b"%72aw.hutch.test", b"raw%00.hutch.test", b"\x80\xff.wild.hutch.test",
    b"a\0b.wild.hutch.test", b"a b.wild.hutch.test", b"A" * 63 + b".evil.test", b".".join([b"a" * 60] * 4), b"1.0.0.127.in-addr.arpa",
    b"20.45.45.45.in-addr.arpa", b"_http._tcp.evil.test", b"xn--rw-fka.hutch.test",
]  # fmt: skip


def bad(what):
    print(f"BAD {what}")


def labels(name):
    return b"".join(bytes([len(part)]) + part for part in name) + b"\0"


def header(count=1, flags=0x0100, answers=0, more=0):
    return struct.pack("!HHHHHH", 9, flags, count, answers, 0, more)


def odd_packets():
    good = labels([b"raw", b"hutch", b"test"])
    yield "a dot inside a label", header() + labels([b"raw.hutch", b"test"]) + b"\0\1\0\1"
    yield "the whole name as one label", header() + labels([b"raw.hutch.test"]) + b"\0\1\0\1"
    yield "a pointer to itself", header() + b"\xc0\x0c\0\1\0\1"
    yield "a pointer beyond the end", header() + b"\xc3\xff\0\1\0\1"
    yield "two pointers in a circle", header() + b"\xc0\x0e\xc0\x0c\0\1\0\1"
    yield "a pointer into the header", header() + b"\3raw\xc0\x00\0\1\0\1"
    yield "a reserved kind of label", header() + b"\x80raw\0\0\1\0\1"
    yield "a label longer than the packet", header() + b"\x3fraw"
    yield "a name of 300 bytes", header() + labels([b"a" * 50] * 6) + b"\0\1\0\1"
    yield "127 labels", header() + labels([b"a"] * 127) + b"\0\1\0\1"
    yield "two questions", header(2) + good + b"\0\1\0\1" + labels([b"other", b"hutch", b"test"]) + b"\0\1\0\1"
    yield "65535 questions", header(65535) + good + b"\0\1\0\1"
    yield "no question", header(0)
    yield "half a question", header() + good + b"\0"
    yield "an answer", header(flags=0x8180, answers=1) + good + b"\0\1\0\1" + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1"
    yield "an update", header(flags=0x2800) + good + b"\0\1\0\1"
    yield "a notification", header(flags=0x2000) + good + b"\0\1\0\1"
    yield "class CH", header() + labels([b"version", b"bind"]) + b"\0\x10\0\3"
    yield "class ANY of another name", header() + labels([b"other", b"hutch", b"test"]) + b"\0\1\0\xff"
    yield "a transfer of the zone", header() + labels([b"hutch", b"test"]) + b"\0\xfc\0\1"
    subnet = b"\0\0\x29\x10\0\0\0\0\0\0\x0c\0\x08\0\x08\0\1\x20\0\x2d\x2d\x2d\x14"
    yield "EDNS with a subnet", header(more=1) + labels([b"other", b"hutch", b"test"]) + b"\0\1\0\1" + subnet
    for length in 0, 1, 11, 12, 13:
        yield f"{length} bytes", os.urandom(length)


def over_stream(packet, pieces=1):
    with socket.create_connection(("198.18.0.1", 53), 3) as sock:
        sock.settimeout(3)
        data = struct.pack("!H", len(packet)) + packet
        step = max(1, len(data) // pieces)
        for i in range(0, len(data), step):
            sock.sendall(data[i : i + step])
        return sock.recv(4096)[2:]


def main():
    for name in DENIED:
        for kind in 1, 28, 5, 16, 65, 255, 12:
            start = time.monotonic()
            try:
                code = reply_code(ask(question(name, kind)))
            except ValueError:  # a label longer than its length can say
                continue
            if not code or code[0] == 0 or code[1]:
                bad(f"{name} type {kind}: {code}")
            if time.monotonic() - start > 0.5:
                bad(f"{name} type {kind} took {time.monotonic() - start:.2f} s")
    for what, packet in odd_packets():
        code = reply_code(ask(packet, timeout=0.2))
        if code and code[1] and what not in ("two questions", "65535 questions"):
            bad(f"{what}: {code}")
    for server in "198.18.0.1", "fd68:7574:6368::1":
        for name in b"raw.hutch.test", b"RAW.Hutch.TEST", b"a.wild.hutch.test", b"a.b.c.wild.hutch.test":
            for kind in 1, 28:
                if reply_code(ask(question(name, kind), server)) != (0, 1):
                    bad(f"{name} type {kind} of {server}: {reply_code(ask(question(name, kind), server))}")
            for kind in 16, 65, 64, 15, 5, 33:
                if reply_code(ask(question(name, kind), server)) != (0, 0):
                    bad(f"{name} type {kind} of {server} is not empty")
    if reply_code(over_stream(question(b"raw.hutch.test"))) != (0, 1) or reply_code(over_stream(question(b"raw.hutch.test"), 40)) != (0,
        1):
        bad("raw.hutch.test over TCP")
    if reply_code(over_stream(question(b"other.hutch.test")))[0] != 3:
        bad("other.hutch.test over TCP")
    for _ in range(2000):  # noise, and good packets with a few bytes turned
        packet = bytearray(question(random.choice(DENIED[:9])))
        for _ in range(random.randrange(4)):
            packet[random.randrange(len(packet))] = random.randrange(256)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(packet, ("198.18.0.1", 53))
    # a queue that is full of it loses this one too, and a resolver asks again
    if all(reply_code(ask(question(b"raw.hutch.test"))) != (0, 1) for _ in range(3)):
        bad("raw.hutch.test after the noise")
    print("done")


main()
