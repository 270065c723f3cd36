# SPDX-License-Identifier: Apache-2.0
"""TLS handshakes that name another host, none, several, or hide it. The marker is the random number of a real ClientHello."""
import os
import ssl
import struct

from attack import END, MARK, deny, either, passes, run

SNI, ECH, ESNI, PADDING = 0, 0xFE0D, 0xFFCE, 21


def hello(name="raw.hutch.test", version=ssl.TLSVersion.TLSv1_3):
    """The handshake message that OpenSSL would send, as a list: type, what comes before the extensions, extensions."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.maximum_version = version
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()[5:]


def parts(message):
    body = message[4:]
    at = 34
    at += 1 + body[at]
    at += 2 + struct.unpack("!H", body[at : at + 2])[0]
    at += 1 + body[at]
    before, rest, extensions = body[:at], body[at + 2 :], []
    while rest:
        kind, length = struct.unpack("!HH", rest[:4])
        extensions.append((kind, rest[4 : 4 + length]))
        rest = rest[4 + length :]
    return before, extensions


def message(before, extensions, kind=1, behind=b""):
    packed = b"".join(struct.pack("!HH", k, len(v)) + v for k, v in extensions) + behind
    body = before[:2] + MARK + before[34:] + struct.pack("!H", len(packed)) + packed
    return bytes([kind]) + len(body).to_bytes(3, "big") + body


def records(data, size=16000, version=b"\x03\x01", kind=22):
    return b"".join(bytes([kind]) + version + struct.pack("!H", len(data[i : i + size])) + data[i : i + size] for i in range(0,
        len(data), size))


def server_name(*names, kind=0):
    packed = b"".join(bytes([kind]) + struct.pack("!H", len(name)) + name for name in names)
    return SNI, struct.pack("!H", len(packed)) + packed


BEFORE, EXTENSIONS = parts(hello())
REST = [(kind, value) for kind, value in EXTENSIONS if kind != SNI]


def named(*names, **more):
    return message(BEFORE, [server_name(*names, **more)] + REST)


GOOD, OTHER = named(b"raw.hutch.test"), named(b"other.hutch.test")


def names(port):
    for what, name in {
        "another": b"other.hutch.test", "its parent": b"hutch.test", "a child": b"a.raw.hutch.test",
        "as a prefix": b"raw.hutch.test.evil.test", "as a suffix": b"evilraw.hutch.test",
        "a NUL and more": b"raw.hutch.test\0.evil.test", "a NUL at the end": b"raw.hutch.test\0", "empty": b"",
        "an address": b"45.45.45.20", "a blank": b"raw.hutch.test ", "a port": b"raw.hutch.test:443",
        "wide letters": "ｒａｗ.hutch.test".encode(), "a wildcard": b"*.hutch.test", "in brackets": b"[raw.hutch.test]",
        "two dots at the end": b"raw.hutch.test..", "very long": b"a" * 60000,
        "an allowed name and more": b"raw.hutch.test,other.hutch.test",
    }.items():  # fmt: skip
        deny(f"SNI: {what}, port {port}", port, records(named(name)))
    deny(f"SNI: none, port {port}", port, records(message(BEFORE, REST)))
    deny(f"no extensions, port {port}", port, records(message(BEFORE, [])))
    deny(f"no room for extensions, port {port}", port,
        records(b"\1" + (len(BEFORE)).to_bytes(3, "big") + BEFORE[:2] + MARK + BEFORE[34:]))
    deny(f"TLS 1.2, another, port {port}", port,
        records(message(parts(hello(version=ssl.TLSVersion.TLSv1_2))[0], [server_name(b"other.hutch.test")])))


def shapes(port):
    deny(f"two names in the list, port {port}", port, records(named(b"raw.hutch.test", b"other.hutch.test")))
    deny(f"two names in the list, turned, port {port}", port, records(named(b"other.hutch.test", b"raw.hutch.test")))
    deny(f"two SNI extensions, port {port}", port,
        records(message(BEFORE, [server_name(b"raw.hutch.test"), server_name(b"other.hutch.test")] + REST)))
    deny(f"two SNI extensions far apart, port {port}", port,
        records(message(BEFORE, [server_name(b"other.hutch.test")] + REST + [server_name(b"raw.hutch.test")])))
    deny(f"a name of another type, port {port}", port, records(named(b"raw.hutch.test", kind=7)))
    deny(f"an empty list, port {port}", port, records(message(BEFORE, [(SNI, b"\0\0")] + REST)))
    deny(f"a list longer than its extension, port {port}", port,
        records(message(BEFORE, [(SNI, b"\0\x40\0\0\x0eraw.hutch.test")] + REST)))
    deny(f"a list shorter than its name, port {port}", port, records(message(BEFORE, [(SNI, b"\0\5\0\0\x0eraw.hutch.test")] + REST)))
    deny(f"bytes behind the list, port {port}", port,
        records(message(BEFORE, [(SNI, b"\0\x11\0\0\x0eraw.hutch.test\0\0\x10other.hutch.test")] + REST)))
    inner = b"\0" + b"\0\1\0\1" + b"\7" + struct.pack("!H", 32) + os.urandom(32) + struct.pack("!H", 200) + os.urandom(200)
    deny(f"ECH with a good outer name, port {port}", port,
        records(message(BEFORE, [server_name(b"raw.hutch.test")] + REST + [(ECH, inner)])))
    deny(f"ECH as GREASE sends it, empty, port {port}", port,
        records(message(BEFORE, [server_name(b"raw.hutch.test")] + REST + [(ECH, b"")])))
    deny(f"ESNI, port {port}", port, records(message(BEFORE, [server_name(b"raw.hutch.test")] + REST + [(ESNI, inner)])))
    deny(f"extensions that end beyond the message, port {port}", port, records(message(BEFORE, EXTENSIONS, behind=b"\x12\x34\1\0abc")))
    deny(f"bytes behind the extensions, port {port}", port, records(longer(GOOD)))


def longer(data):
    return data[:1] + (len(data) - 4 + 5).to_bytes(3, "big") + data[4:] + b"extra"


def slowly(data):
    return sum(([data[i : i + 1], 0.002] for i in range(len(data))), [])


def pieces(port):
    for size in 1, 2, 3, 5, 50, 100:
        deny(f"another name over records of {size}, port {port}", port, records(OTHER[:38]) + records(OTHER[38:], size))
    whole = records(OTHER)
    deny(f"another name over segments, port {port}", port, *slowly(whole[:11]), whole[11:43], *slowly(whole[43:90]), whole[90:])
    deny(f"another name, the first byte alone, port {port}", port, whole[:1], 0.2, whole[1:])
    deny(f"another name behind an empty record, port {port}", port, b"\x16\x03\x01\0\0" + whole)
    deny(f"another name behind a change of cipher, port {port}", port, b"\x14\x03\x01\0\1\1" + whole)
    deny(f"another name behind application data, port {port}", port, b"\x17\x03\x03\0\1\0" + whole)
    deny(f"another name behind a blank line, port {port}", port, b"\r\n" + whole)
    deny(f"another name behind an alert, port {port}", port, b"\x15\x03\x01\0\2\1\0" + whole)
    deny(f"another message first, port {port}", port, records(b"\0\0\0\0" + OTHER))
    deny(f"a message that is no hello, port {port}", port, records(message(BEFORE, EXTENSIONS, kind=2)))
    either(f"a record longer than allowed, port {port}", port, records(named(b"raw.hutch.test") + b"\0" * 20000, size=60000))
    # it has no room for a name; elsewhere than on 443 it is one of many protocols
    (deny if port == 443 else either)(f"SSL 2, port {port}", port, bytes([0x80, 0x4E, 1, 3, 1, 0, 3, 0, 0, 0, 32]) + b"\0\0\x2f" + MARK + b"\0" * 35)
    deny(f"a message of 16 MiB, port {port}", port, b"\x16\x03\x01\x40\0\1\xff\xff\xff" + b"\3\3" + MARK + b"\0" * 16346,
        *[b"\x16\x03\x01\x40\0" + b"\0" * 16384] * 40)
    deny(f"half a hello, and the end, port {port}", port, records(OTHER)[:-20], END)


def good(port):
    passes(f"good, port {port}", port, records(GOOD))
    passes(f"good, capitals, port {port}", port, records(named(b"RAW.Hutch.TEST")))
    passes(f"good, record version 3.3, port {port}", port, records(GOOD, version=b"\3\3"))
    passes(f"good, the name last, port {port}", port, records(message(BEFORE, REST + [server_name(b"raw.hutch.test")])))
    passes(f"good, in segments, port {port}", port, records(GOOD)[:7], 0.05, records(GOOD)[7:60], 0.05, records(GOOD)[60:])
    # the marker is whole in the second record
    passes(f"good, over two records, port {port}", port, records(GOOD[:5]) + records(GOOD[5:]))
    passes(f"good, over many records, port {port}", port,
        records(GOOD[:1]) + records(GOOD[1:4], 1) + records(GOOD[4:60]) + records(GOOD[60:], 20))
    passes(f"good, padded, port {port}", port, records(message(BEFORE, EXTENSIONS + [(PADDING, b"\0" * 3000)])))
    either(f"a dot at the end, port {port}", port, records(named(b"raw.hutch.test.")))


for where in 443, 7000:
    for part in names, shapes, pieces, good:
        part(where)
run()
