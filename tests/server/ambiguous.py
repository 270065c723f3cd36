# SPDX-License-Identifier: Apache-2.0
"""Requests that can be read in two ways, or that are none; as bytes.

Three kinds. `framing`: where a request ends is in doubt, so what comes behind it must never be read as the next one: the answer is an
error, if there is any, and the connection is closed. `refused`: it is clear where it ends, and it is not to be served. `harmless`: whatever
is answered, nothing happens. Behind every `framing` request comes another, which is in perfect order: who reads it makes a sandbox.
"""
import json

HOST = b"127.0.0.1"


def body_for(name):
    return json.dumps({"project_name": name}).encode()


def create(name, *more, host=HOST):
    """A creation in perfect order."""
    body = body_for(name)
    lines = [b"POST /api/sandboxes/ HTTP/1.1", b"Host: " + host, b"Content-Type: application/json",
             b"Content-Length: %d" % len(body), *more]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


CARRIER = body_for("carrier")
SIZE = b"%d" % len(CARRIER)
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER)


def post(*lines, body=CARRIER, first=b"POST /api/sandboxes/ HTTP/1.1", host=b"Host: " + HOST):
    """A creation whose framing is in `lines`."""
    head = [first, *([host] if host else []), b"Content-Type: application/json", *lines]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def chunked(body):
    return post(b"Transfer-Encoding: chunked", body=body)


def get(*lines, first=b"GET /healthz HTTP/1.1", host=b"Host: " + HOST):
    return b"\r\n".join([first, *([host] if host else []), *lines]) + b"\r\n\r\n"


LENGTHS = {
    "a list of two equal lengths": SIZE + b", " + SIZE,
    "a list of two lengths": b"0, " + SIZE,
    "a plus sign": b"+" + SIZE,
    "a minus sign": b"-" + SIZE,
    "hexadecimal": b"0x%x" % len(CARRIER),
    "a space within": SIZE[:1] + b" " + SIZE[1:],
    "a letter behind": SIZE + b"a",
    "no digit": b"",
    "2^64 more": b"%d" % (len(CARRIER) + (1 << 64)),
    "2^32 times 2^32": b"18446744073709551616",
    "thirty digits": b"1" * 30,
    "an underscore": SIZE[:1] + b"_" + SIZE[1:],
    "a vertical tab before": b"\x0b" + SIZE,
    "a fraction": SIZE + b".0",
    "quotes": b'"' + SIZE + b'"',
}

CODINGS = {
    "another word": [b"Transfer-Encoding: xchunked"],
    "identity": [b"Transfer-Encoding: identity"],
    "chunked is not the last": [b"Transfer-Encoding: chunked, identity"],
    "chunked twice": [b"Transfer-Encoding: chunked, chunked"],
    "two fields": [b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"],
    "a vertical tab before": [b"Transfer-Encoding: \x0bchunked"],
    "quotes": [b'Transfer-Encoding: "chunked"'],
    "a coding before": [b"Transfer-Encoding: gzip, chunked"],
    "a NUL behind": [b"Transfer-Encoding: chunked\0"],
    "a space before the colon": [b"Transfer-Encoding : chunked"],
    "a tab before the colon": [b"Transfer-Encoding\t: chunked"],
    "on the next line": [b"Transfer-Encoding:\r\n chunked"],
    "behind a lone LF": [b"X: a\nTransfer-Encoding: chunked"],
    "behind a lone CR": [b"X: a\rTransfer-Encoding: chunked"],
    "goes on on the next line": [b"Transfer-Encoding: chunked\r\n , identity"],
    "empty, and goes on": [b"Transfer-Encoding:\r\n\r\n chunked"],
    "a comma behind": [b"Transfer-Encoding: chunked,"],
    "a comma before, and nothing": [b"Transfer-Encoding: ,"],
    "nothing": [b"Transfer-Encoding:"],
    "a parameter": [b"Transfer-Encoding: chunked;q=1"],
    "a line that begins with a space": [b"X: a", b" Transfer-Encoding: chunked"],
    "behind CR CR LF": [b"X: a\r\r\nTransfer-Encoding: chunked"],
    "with a length": [b"Content-Length: " + SIZE, b"Transfer-Encoding: chunked"],
    "with a length behind": [b"Transfer-Encoding: chunked", b"Content-Length: 4"],
    "with a length of nothing": [b"Content-Length: 0", b"Transfer-Encoding: chunked"],
    "another word, with a length": [b"Transfer-Encoding: chunke", b"Content-Length: " + SIZE],
}

CHUNKED = {
    "a size that is no number": b"zz\r\n" + CARRIER + b"\r\n0\r\n\r\n",
    "a size with 0x": b"0x%x\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "a size with a sign": b"+%x\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "a negative size": b"-1\r\n" + CARRIER + b"\r\n0\r\n\r\n",
    "no size": b"\r\n" + CARRIER + b"\r\n0\r\n\r\n",
    "a size of 2^64": b"10000000000000000\r\n" + CARRIER + b"\r\n0\r\n\r\n",
    "a size of 2^64 more": b"1%016x\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "a space behind the size": b"%x \r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "a tab behind the size": b"%x\t\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "a lone LF behind the data": b"%x\r\n%s\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "a lone LF at the end": b"%x\r\n%s\r\n0\r\n\n" % (len(CARRIER), CARRIER),
    "a last size with letters": b"%x\r\n%s\r\n0g\r\n\r\n" % (len(CARRIER), CARRIER),
    "an underscore in the size": b"%x_\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "a NUL in an extension": b"%x;\0\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "a space before the size": b" %x\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "lone LFs": b"%x\n%s\n0\n\n" % (len(CARRIER), CARRIER),
    "a lone LF behind the size": b"%x\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "a lone CR behind the size": b"%x\r%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "more data than the size says": b"%x\r\n%s\r\n0\r\n\r\n" % (len(CARRIER) - 1, CARRIER),
    "no line's end behind the data": b"%x\r\n%s0\r\n\r\n" % (len(CARRIER), CARRIER),
    "two bytes that are no line's end behind the data": b"%x\r\n%sXX0\r\n\r\n" % (len(CARRIER), CARRIER),
    "an extension with a lone LF": b"%x;a\nb\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "an extension with a lone CR": b"%x;a\rb\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), CARRIER),
    "an extension without end": b"%x;%s\r\n%s\r\n0\r\n\r\n" % (len(CARRIER), b"a" * 100_000, CARRIER),
    "a trailer that is none": b"%x\r\n%s\r\n0\r\nno field\r\n\r\n" % (len(CARRIER), CARRIER),
    "a trailer with a lone LF": b"%x\r\n%s\r\n0\r\nA: b\nC: d\r\n\r\n" % (len(CARRIER), CARRIER),
    "a trailer on two lines": b"%x\r\n%s\r\n0\r\nA: b\r\n c\r\n\r\n" % (len(CARRIER), CARRIER),
    "trailers without end": b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(CARRIER), CARRIER, b"A: b\r\n" * 20_000),
    "no end behind the last": b"%x\r\n%s\r\n0\r\n" % (len(CARRIER), CARRIER),
}

HEADS = {
    "two lengths that differ": post(b"Content-Length: " + SIZE, b"Content-Length: 4"),
    "two lengths that are equal": post(b"Content-Length: " + SIZE, b"Content-Length: " + SIZE),
    "a length on two lines": post(b"Content-Length:\r\n " + SIZE),
    "a space before the colon of the length": post(b"Content-Length : " + SIZE),
    "chunked in HTTP/1.0": post(b"Transfer-Encoding: chunked", body=CHUNKS, first=b"POST /api/sandboxes/ HTTP/1.0"),
    "lone LFs": post(b"Content-Length: " + SIZE, body=b"").replace(b"\r\n", b"\n") + CARRIER,
    "a lone LF at the end of a line": get(b"X: y\nZ: a"),
    "a lone LF behind the head": get()[:-2] + b"\n",
    "CR CR LF": get(b"X: a\r"),
    "a lone CR in a value": get(b"X: a\rb"),
    "a lone CR in the path": get(first=b"GET /healthz\r HTTP/1.1"),
    "a line's end within the first line": get(first=b"GET /healthz\r\n HTTP/1.1"),
    "a list of lengths in two fields": post(b"Content-Length: " + SIZE, b"content-length: " + SIZE),
    "lone CRs": get().replace(b"\r\n", b"\r"),
    "a NUL in a value": get(b"X: a\0b"),
    "a NUL in a name": get(b"X\0Y: a"),
    "a control character in a value": get(b"X: a\x01b"),
    "a DEL in a value": get(b"X: a\x7fb"),
    "a field on two lines": get(b"X: a\r\n b"),
    "a field on two lines, with a tab": get(b"X: a\r\n\tb"),
    "a first line that goes on": get(host=b" Host: 127.0.0.1"),
    "a line without a colon": get(b"this is no field"),
    "a field without a name": get(b": a"),
    "a space in a name": get(b"X Y: a"),
    "a bracket in a name": get(b"X(Y): a"),
    "a name that is not ASCII": get(b"X\xc3\xa4: a"),
    "no version": b"GET /healthz\r\n\r\n",
    "HTTP/2's first words": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "version 3.0": get(first=b"GET /healthz HTTP/3.0"),
    "version 11.1": get(first=b"GET /healthz HTTP/11.1"),
    "version 1.": get(first=b"GET /healthz HTTP/1."),
    "another protocol": get(first=b"GET /healthz RTSP/1.0"),
    "a small version": get(first=b"GET /healthz http/1.1"),
    "a word behind the version": get(first=b"GET /healthz HTTP/1.1 HTTP/1.1"),
    "a space behind the version": get(first=b"GET /healthz HTTP/1.1 "),
    "a tab between the words": get(first=b"GET\t/healthz\tHTTP/1.1"),
    "a space in the path": get(first=b"GET /healthz /api HTTP/1.1"),
    "a control character in the path": get(first=b"GET /health\x01z HTTP/1.1"),
    "a NUL in the path": get(first=b"GET /healthz\0 HTTP/1.1"),
    "a path that is not ASCII": get(first=b"GET /healthz\xff HTTP/1.1"),
    "a path without a slash": get(first=b"GET healthz HTTP/1.1"),
    "no path": get(first=b"GET  HTTP/1.1"),
    "small letters": get(first=b"get /healthz HTTP/1.1"),
    "a method that is none": get(first=b"G(T /healthz HTTP/1.1"),
    "a method without end": get(first=b"A" * 10_000 + b" /healthz HTTP/1.1"),
    "a path without end": get(first=b"GET /" + b"a" * 100_000 + b" HTTP/1.1"),
    "a field without end": get(b"X: " + b"a" * 200_000),
    "fields without end": get(*[b"X%d: a" % i for i in range(5000)]),
    "garbage": bytes(range(256)),
    "TLS": bytes.fromhex("16030100a5010000a10303") + b"\x11" * 200,
    "no host": get(host=None),
    "two hosts": get(b"Host: evil.example"),
    "two hosts that are equal": get(b"Host: " + HOST),
    "a host with a space": get(host=b"Host: 127.0.0.1 evil.example"),
    "a host with a path": get(host=b"Host: 127.0.0.1/api"),
    "a host with a user": get(host=b"Host: a@127.0.0.1"),
    "a list of hosts": get(host=b"Host: 127.0.0.1, evil.example"),
}

HOSTS = ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:80", "a.localhost.evil", "2130706433", "0x7f.1",
         "[::ffff:127.0.0.1%25lo]", "127.0.0.1:99999", "127.0.0.1:x", "-", "..", "169.254.169.254", "xn--localhost-.evil")
ORIGINS = ("http://evil.example", "https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1.evil.example",
           "http://127.0.0.1@evil.example", "file://", "chrome-extension://abc", "http://evil.example, http://127.0.0.1")
PATHS = (b"/api/../healthz", b"/api/sandboxes/../../healthz", b"/healthz%00", b"/healthz%0a", b"/api/sandboxes/%2e%2e/run", b"/healthz%2", b"/healthz%zz",
         b"/api/sandboxes/%ff", b"//healthz", b"/healthz/x", b"/HEALTHZ", b"/api/sandboxes/canary%2fexecute", b"/api/sandboxes/canary/./stop",
         b"/api/sandboxes/?unknown=1", b"/api/sandboxes/?label=a=b&label=a=%zz")

FRAMING = {
    **{f"content-length: {name}": post(b"Content-Length: " + value) for name, value in LENGTHS.items()},
    **{f"transfer-encoding: {name}": post(*lines, body=CHUNKS) for name, lines in CODINGS.items()},
    **{f"chunks: {name}": chunked(body) for name, body in CHUNKED.items()},
    **{f"head: {name}": data for name, data in HEADS.items()},
}

REFUSED = {
    **{f"host {value}": create("carrier", host=value.encode()) for value in HOSTS},
    **{f"origin {value}": create("carrier", b"Origin: " + value.encode()) for value in ORIGINS},
    "two origins": create("carrier", b"Origin: http://127.0.0.1", b"Origin: http://evil.example"),
    **{f"path {path.decode()}": get(first=b"GET " + path + b" HTTP/1.1") for path in PATHS},
    "another host's whole address": get(first=b"GET http://evil.example/healthz HTTP/1.1"),
    "the way through to another": get(first=b"CONNECT 127.0.0.1:22 HTTP/1.1"),
    "TRACE": get(first=b"TRACE /healthz HTTP/1.1"),
    "an unknown method": get(first=b"BREW /healthz HTTP/1.1"),
    "an expectation": create("carrier", b"Expect: 200-ok"),
    "another method in a field": get(b"X-HTTP-Method-Override: DELETE", first=b"GET /api/sandboxes/none HTTP/1.1"),
    "two tokens": create("carrier", b"Authorization: Bearer a", b"Authorization: Bearer b"),
    "another type": create("carrier").replace(b"application/json", b"text/plain"),
    "a form": create("carrier").replace(b"application/json", b"application/x-www-form-urlencoded"),
    "a coded body": create("carrier", b"Content-Encoding: gzip"),
    "two types": create("carrier", b"Content-Type: text/plain"),
}

HARMLESS = {
    "an old protocol's upgrade": get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__"),
    "an upgrade of what cannot be": get(b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="),
    "asterisk": get(first=b"OPTIONS * HTTP/1.1"),
    "a fragment": get(first=b"GET /healthz#x HTTP/1.1"),
    "the whole address": get(first=b"GET http://127.0.0.1/healthz HTTP/1.1"),
    "version 1.9": get(first=b"GET /healthz HTTP/1.9"),
    "an empty line before": b"\r\n" + get(),
    "a body of a GET": get(b"Content-Length: 5") + b"hello",
    "a connection field that names fields": get(b"Connection: close, Host, Authorization"),
    "a trailer with a length": chunked(b"2\r\n{}\r\n0\r\nContent-Length: 500\r\n\r\n").replace(b"/api/sandboxes/", b"/api/sandboxes/none/stop"),
}
