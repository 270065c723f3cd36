# SPDX-License-Identifier: Apache-2.0
"""HTTP that names another host than the one that was dialled, or that two readers could read in two ways. The rule has raw.hutch.test
on 80, 443 and 7000."""
import itertools

from attack import ANSWER, END, MARK, deny, either, passes, run

GOOD = b"Host: raw.hutch.test\r\n"
EVIL = b"GET /" + MARK + b" HTTP/1.1\r\nHost: other.hutch.test\r\n\r\n"


def get(*headers, line=b"GET /" + MARK + b" HTTP/1.1\r\n"):
    return line + b"".join(headers) + b"\r\n"


def after(*headers, body=b"", line=b"POST /first HTTP/1.1\r\n"):
    """A request that may pass, and at once one that must not."""
    return line + b"".join(headers) + b"\r\n" + body + EVIL


def hosts():
    values = {
        "another host": b"other.hutch.test", "its parent": b"hutch.test", "a child of it": b"a.raw.hutch.test",
        "its name as a prefix": b"raw.hutch.test.evil.test",
        "its name as a suffix": b"evilraw.hutch.test", "two names with a space": b"raw.hutch.test other.hutch.test",
        "two names with a comma": b"raw.hutch.test,other.hutch.test",
        "as a user": b"raw.hutch.test@other.hutch.test", "with a user": b"x@raw.hutch.test",
        "as a fragment": b"other.hutch.test#raw.hutch.test",
        "with a path": b"raw.hutch.test/x", "with a query": b"other.hutch.test?raw.hutch.test",
        "with a backslash": b"other.hutch.test\\raw.hutch.test",
        "a NUL and more": b"raw.hutch.test\0.evil.test", "only a NUL more": b"raw.hutch.test\0", "in brackets": b"[raw.hutch.test]",
        "empty": b"", "blank": b"  ",
        "an address": b"45.45.45.20", "its synthetic address": b"198.18.0.2", "localhost": b"localhost",
        "another port": b"raw.hutch.test:81",
        "a port that wraps around": b"raw.hutch.test:65616", "no digits in the port": b"raw.hutch.test:8o",
        "two ports": b"raw.hutch.test:80:443", "a negative port": b"raw.hutch.test:-80",
        "a signed port": b"raw.hutch.test:+80", "wide letters": "ｒａｗ.hutch.test".encode(), "a dotless i": "raw.hutch.tést".encode(),
        "a soft hyphen": "ra\u00adw.hutch.test".encode(),
        "an ideographic dot": "raw。hutch.test".encode(), "percent": b"raw%2ehutch.test", "two dots": b"raw..hutch.test",
        "two dots at the end": b"raw.hutch.test..", "a dot before": b".raw.hutch.test",
        "a vertical tab": b"\x0braw.hutch.test", "a form feed behind": b"raw.hutch.test\x0c", "DEL": b"raw.hutch.test\x7f",
        "quotes": b'"raw.hutch.test"',
    }  # fmt: skip
    for (what, value), port in itertools.product(values.items(), (80, 7000)):
        deny(f"Host: {what}, port {port}", port, get(b"Host: " + value + b"\r\n"))
    deny("no Host", 80, get())
    deny("no Host, port 7000", 7000, get())
    deny("HTTP/1.0 without Host", 80, get(line=b"GET /" + MARK + b" HTTP/1.0\r\n"))
    deny("HTTP/1.0, another Host", 80, get(b"Host: other.hutch.test\r\n", line=b"GET /" + MARK + b" HTTP/1.0\r\n"))
    deny("two Hosts, the good one first", 80, get(GOOD, b"Host: other.hutch.test\r\n"))
    deny("two Hosts, the good one last", 80, get(b"Host: other.hutch.test\r\n", GOOD))
    deny("the same Host twice", 80, get(GOOD, GOOD))
    deny("two Hosts, other letters", 80, get(GOOD, b"hOST: other.hutch.test\r\n"))
    deny("a blank before the colon", 80, get(b"Host : raw.hutch.test\r\n"))
    deny("a second Host with a blank before the colon", 80, get(GOOD, b"Host : other.hutch.test\r\n"))
    deny("a second Host with a tab before the colon", 80, get(GOOD, b"Host\t: other.hutch.test\r\n"))
    deny("a blank before Host", 80, get(b" Host: raw.hutch.test\r\n"))
    deny("Host on a folded line", 80, get(b"Host:\r\n raw.hutch.test\r\n"))
    deny("Host continued on a folded line", 80, get(b"Host: raw.hutch.test\r\n .evil.test\r\n"))
    deny("a folded line elsewhere", 80, get(GOOD, b"X: a\r\n\tb\r\n"))
    deny("a NUL in the name of a header", 80, get(GOOD, b"Ho\0st: other.hutch.test\r\n"))
    deny("a bare LF hides a Host", 80, get(b"X: a\nHost: other.hutch.test\r\n", GOOD))
    deny("a bare CR hides a Host", 80, get(b"X: a\rHost: other.hutch.test\r\n", GOOD))
    deny("all lines end with LF", 80, b"GET /" + MARK + b" HTTP/1.1\nHost: other.hutch.test\n\n")
    deny("all lines end with LF, good Host", 80, b"GET /" + MARK + b" HTTP/1.1\nHost: raw.hutch.test\n\n")
    deny("all lines end with CR", 80, b"GET /" + MARK + b" HTTP/1.1\rHost: other.hutch.test\r\r", 0.1, b"\r\n\r\n")
    deny("a header without a colon", 80, get(GOOD, b"whatever\r\n"))
    deny("an empty header name", 80, get(GOOD, b": other.hutch.test\r\n"))
    deny("a head of 1 MiB", 80, get(GOOD, b"X: " + b"a" * (1 << 20) + b"\r\n", line=b"GET / HTTP/1.1\r\n"), EVIL)
    deny("100,000 headers", 80, get(GOOD, b"X: a\r\n" * 100000, line=b"GET / HTTP/1.1\r\n"), EVIL)
    for port in 80, 7000:
        for good in (b"raw.hutch.test:%d" % port, b"RAW.hutch.Test:%d" % port):
            passes(f"Host: {good.decode()}, port {port}", port, get(b"Host: " + good + b"\r\nConnection: close\r\n"))
    passes("Host without a port, port 80", 80, get(GOOD))
    passes("tabs around the Host", 80, get(b"Host:\t raw.hutch.test \t\r\n"))
    passes("bytes one by one", 80, *(get(GOOD)[i : i + 1] for i in range(5)), get(GOOD)[5:])
    deny("bytes one by one, another Host", 80, *(EVIL[i : i + 1] for i in range(5)), EVIL[5:])
    either("a dot at the end", 80, get(b"Host: raw.hutch.test.\r\n"))


def lines():
    for what, line in {
        "absolute, another host": b"GET http://other.hutch.test/" + MARK + b" HTTP/1.1\r\n",
        "absolute, another port": b"GET http://raw.hutch.test:81/" + MARK + b" HTTP/1.1\r\n",
        "absolute, the good one as a user": b"GET http://raw.hutch.test@other.hutch.test/" + MARK + b" HTTP/1.1\r\n",
        "absolute, a backslash": b"GET http://other.hutch.test\\@raw.hutch.test/" + MARK + b" HTTP/1.1\r\n",
        "absolute, capitals": b"GET HTTP://OTHER.hutch.test/" + MARK + b" HTTP/1.1\r\n",
        "absolute, https": b"GET https://other.hutch.test/" + MARK + b" HTTP/1.1\r\n",
        "absolute, ftp": b"GET ftp://other.hutch.test/" + MARK + b" HTTP/1.1\r\n",
        "absolute, no host": b"GET http:///" + MARK + b" HTTP/1.1\r\n",
        "absolute, one slash": b"GET http:/other.hutch.test/" + MARK + b" HTTP/1.1\r\n",
        "CONNECT elsewhere": b"CONNECT other.hutch.test:443 HTTP/1.1\r\nX: " + MARK + b"\r\n",
        "CONNECT to itself": b"CONNECT raw.hutch.test:443 HTTP/1.1\r\nX: " + MARK + b"\r\n",
        "connect in small letters": b"connect other.hutch.test:443 HTTP/1.1\r\nX: " + MARK + b"\r\n",
        "two blanks": b"GET  /" + MARK + b" HTTP/1.1\r\n", "a tab": b"GET\t/" + MARK + b" HTTP/1.1\r\n",
        "a blank in the target": b"GET /a b" + MARK + b" HTTP/1.1\r\n",
        "a NUL in the target": b"GET /\0" + MARK + b" HTTP/1.1\r\n", "a blank behind the version": b"GET /" + MARK + b" HTTP/1.1 \r\n",
        "HTTP/2.0": b"GET /" + MARK + b" HTTP/2.0\r\n",
        "HTTP/1.10": b"GET /" + MARK + b" HTTP/1.10\r\n", "http/1.1": b"GET /" + MARK + b" http/1.1\r\n",
        "HTTP/0.9 with headers": b"GET /" + MARK + b"\r\n", "a bare LF in it": b"GET /" + MARK + b" HTTP/1.1\n",
        "a CR in it": b"GET /\r" + MARK + b" HTTP/1.1\r\n",
    }.items():  # fmt: skip
        deny(f"request line: {what}", 80, get(GOOD, line=line))
    deny("HTTP/0.9", 80, b"GET /" + MARK + b"\r\n\r\n")
    deny("the preface of HTTP/2", 80, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\x20\4\0\0\0\0\0" + MARK)
    deny("the preface of HTTP/2, port 7000", 7000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\x20\4\0\0\0\0\0" + MARK)
    for what, before in {"CRLF": b"\r\n", "many CRLF": b"\r\n" * 40, "blanks": b"   ", "LF": b"\n\n", "tabs": b"\t\r\n"}.items():
        deny(f"{what} before the request, another Host", 80, before + EVIL)
        deny(f"{what} before the request, another Host, port 7000", 7000, before + EVIL)
    cut = EVIL.replace(b"/" + MARK, b"/").replace(b"\r\n\r\n", b"\r\nX: " + MARK + b"\r\n\r\n")
    for size in 1, 3, 4, 10, 14, 15, 16, 20:
        deny(f"cut after {size} bytes, another Host, port 7000", 7000, cut[:size], 0.1, cut[size:])
        deny(f"cut after {size} bytes, blanks before it, port 7000", 7000, b"\r\n ", 0.05, cut[:size], 0.1, cut[size:])
    deny("an unknown method, another Host, port 7000", 7000, b"BREW" + EVIL[3:])
    deny("a small method, another Host, port 7000", 7000, b"get" + EVIL[3:])
    deny("no HTTP on port 80", 80, b"SSH-2.0-" + MARK + b"\r\n")
    deny("bytes on port 80", 80, b"\0\1\2\3" + MARK)
    deny("bytes on port 443", 443, b"\0\1\2\3" + MARK)
    deny("SSH on port 443", 443, b"SSH-2.0-" + MARK + b"\r\n")
    deny("HTTP on port 443, another Host", 443, EVIL)
    passes("no HTTP on port 7000", 7000, b"SSH-2.0-" + MARK + b"\r\n")
    passes("bytes on port 7000", 7000, b"\0\1\2\3" + MARK)
    either("absolute, the same authority", 80, get(GOOD, line=b"GET http://raw.hutch.test/" + MARK + b" HTTP/1.1\r\n"))


def lenient():
    """What is HTTP to some servers only, on a port where other protocols pass: what comes behind it would be read by nobody."""
    good = b"Host: raw.hutch.test:7000\r\n"
    for what, line in {
        "a method of 65 bytes": b"X" * 65 + b" / HTTP/1.1\r\n", "a method of 100,000 bytes": b"X" * 100000 + b" / HTTP/1.1\r\n",
        "a target of 100,000 bytes": b"BREW /" + b"a" * 100000 + b" HTTP/1.1\r\n",
        "a line of 100,000 bytes that are no text": b"\1" * 100000 + b" / HTTP/1.1\r\n",
        "100,000 blanks behind the method": b"GET" + b" " * 100000 + b"/\r\n",
        "100,000 bytes before a scheme's end": b"GET " + b"x" * 100000 + b"://other.hutch.test/\r\n",
        "a header of 100,000 bytes": b"GET x\r\n" + b"X" * 100000 + b": y\r\n",
        "unit separators": b"GET\x1f/\x1fHTTP/1.1\r\n", "a file separator before it": b"\x1cGET / HTTP/1.1\r\n",
        "NEL": b"GET\x85/\x85HTTP/1.1\r\n", "a hard space before it": b"\xa0GET / HTTP/1.1\r\n",
        "wide spaces": "BREW\u3000/\u3000HTTP/1.1\r\n".encode(), "a line of hard spaces before it": b"\xa0\xa0\r\nGET / HTTP/1.1\r\n",
        "a control character in the method": b"\1GET / HTTP/1.1\r\n", "a NUL in the method": b"\0GET / HTTP/1.1\r\n",
        "a byte beyond ASCII in the method": b"G\xcbT / HTTP/1.1\r\n",
        "HTTP/0.9": b"GET /\r\n", "HTTP/0.9 without a slash": b"GET x\r\n", "HTTP/0.9 as from a mailbox": b"GET x\r\nFrom y\r\n",
        "HTTP/0.9, absolute, an unknown scheme": b"GET x://other.hutch.test/\r\n", "a version of its own": b"POST / FOO/1.1\r\n",
    }.items():  # fmt: skip
        deny(f"lenient: {what}", 7000, get(good, line=line) + EVIL)
        deny(f"lenient: {what}, another Host", 7000, get(b"Host: other.hutch.test\r\nX: " + MARK + b"\r\n", line=line))
        deny(f"lenient: {what}, cut", 7000, line[:-9], 0.1, line[-9:], 0.1, get(good, line=b"") + EVIL)
    for what, line in {
        "absolute": b"GET http://other.hutch.test/" + MARK + b" HTTP/1.1", "with a CR": b"GET /" + MARK + b" HTTP/1.1\r",
        "HTTP/0.9": b"GET /" + MARK, "hard spaces": b"GET\xa0/" + MARK + b"\xa0HTTP/1.1", "no slash, a header": b"GET x\nHost: " + MARK,
    }.items():  # fmt: skip
        deny(f"the end instead of a line's, {what}", 7000, line, END)
        deny(f"the end instead of a line's, later, {what}", 7000, line[:5], 0.1, line[5:], 0.1, END)


def others():
    """Protocols that are not HTTP pass where they may, though they look a little like it."""
    for what, data in {
        "SSH": b"SSH-2.0-" + MARK + b"\r\n", "SMTP": b"EHLO " + MARK + b"\r\nMAIL FROM:<a@hutch.test>\r\n",
        "Redis": b"*2\r\n$3\r\nGET\r\n$32\r\n" + MARK + b"\r\n", "Redis, inline": b"GET " + MARK + b"\r\n",
        "Redis, inline, more": b"GET user:1\r\nGET " + MARK + b"\r\n", "Redis, inline, paths": b"SET /" + MARK + b" HTTP\r\n",
        "memcached": b"get /" + MARK + b"\r\n", "PostgreSQL": b"\0\0\0\x2e\0\3\0\0user\0" + MARK + b"\0\0",
        "PostgreSQL wants TLS": b"\0\0\0\x08\x04\xd2\x16\x2f" + MARK, "git": b"0045git-upload-pack /x.git\0host=" + MARK + b"\0",
        "AMQP": b"AMQP\0\0\x09\1" + MARK, "MQTT": b"\x10\x2c\0\4MQTT\4\2\0\x3c\0\x20" + MARK,
        "STOMP": b"CONNECT\nhost:raw.hutch.test\n\n" + MARK + b"\0", "AJP": b"\x12\x34\0\x2f\2\2\0\x08HTTP/1.1\0" + MARK,
        "RTSP": b"OPTIONS rtsp://raw.hutch.test/ RTSP/1.0\r\nCSeq: 1\r\nX: " + MARK + b"\r\n\r\n",
        "SIP": b"OPTIONS sip:raw.hutch.test SIP/2.0\r\nVia: " + MARK + b"\r\n\r\n", "gzip": b"\x1f\x8b\x08\0" + MARK,
        "bytes beyond ASCII": b"\x80\xa0\x85" + MARK, "text without an end": b"text" + MARK, "JSON": b'{"jsonrpc": "2.0", "id": "' + MARK + b'"}',
        "100,000 bytes of a line": b"x" * 100000 + MARK, "a MiB of zeros": b"\0" * (1 << 20) + MARK, "a MiB of blanks": b" " * (1 << 20) + MARK,
        "a MiB of zeros, then HTTP": b"\0" * (1 << 20) + b"\nGET / HTTP/1.1\r\n" + MARK,
    }.items():  # fmt: skip
        passes(f"{what}, port 7000", 7000, data)
        passes(f"{what}, and the end, port 7000", 7000, data, END)
        passes(f"{what}, cut, port 7000", 7000, data[:3], 0.05, data[3:])


def framing():
    chunked = b"Transfer-Encoding: chunked\r\n"
    for what, headers, body in (
        ("CL with TE", (GOOD, b"Content-Length: 5\r\n", chunked), b"0\r\n\r\n"),
        ("TE with CL", (GOOD, chunked, b"Content-Length: 0\r\n"), b"0\r\n\r\n"),
        ("CL twice, the same", (GOOD, b"Content-Length: 0\r\n" * 2), b""),
        ("CL twice", (GOOD, b"Content-Length: 0\r\nContent-Length: 90\r\n"), b""),
        ("CL in a list", (GOOD, b"Content-Length: 0, 0\r\n"), b""), ("CL with a sign", (GOOD, b"Content-Length: +0\r\n"), b""),
        ("CL negative", (GOOD, b"Content-Length: -1\r\n"), b""),
        ("CL hexadecimal", (GOOD, b"Content-Length: 0x0\r\n"), b""), ("CL empty", (GOOD, b"Content-Length: \r\n"), b""),
        ("CL beyond 64 bits", (GOOD, b"Content-Length: 18446744073709551616\r\n"), b""),
        ("CL with a blank inside", (GOOD, b"Content-Length: 0 0\r\n"), b""),
        ("CL with a blank before the colon", (GOOD, b"Content-Length : 90\r\n"), b""),
        ("CL with underscore", (GOOD, b"Content_Length: 90\r\n"), b""),
        ("TE twice", (GOOD, chunked, chunked), b"0\r\n\r\n"), ("TE identity", (GOOD, b"Transfer-Encoding: identity\r\n"), b""),
        ("TE chunked, identity", (GOOD, b"Transfer-Encoding: chunked, identity\r\n"), b"0\r\n\r\n"),
        ("TE xchunked", (GOOD, b"Transfer-Encoding: xchunked\r\n"), b"0\r\n\r\n"),
        ("TE gzip, chunked", (GOOD, b"Transfer-Encoding: gzip, chunked\r\n"), b"0\r\n\r\n"),
        ("TE with a blank", (GOOD, b"Transfer-Encoding : chunked\r\n"), b"0\r\n\r\n"),
        ("TE with a vertical tab", (GOOD, b"Transfer-Encoding: \x0bchunked\r\n"), b"0\r\n\r\n"),
        ("TE quoted", (GOOD, b'Transfer-Encoding: "chunked"\r\n'), b"0\r\n\r\n"),
        ("TE with a NUL", (GOOD, b"Transfer-Encoding: chunked\0\r\n"), b"0\r\n\r\n"),
        ("TE in HTTP/1.0", (GOOD, chunked), b"0\r\n\r\n"),
    ):  # fmt: skip
        line = b"POST /first HTTP/1.0\r\n" if "1.0" in what else b"POST /first HTTP/1.1\r\n"
        deny(f"framing: {what}", 80, after(*headers, body=body, line=line))
        deny(f"framing: {what}, port 7000", 7000, after(*(h.replace(b"test\r", b"test:7000\r") for h in headers), body=body, line=line))
    for what, body in {
        "a chunk's size beyond 64 bits": b"10000000000000000\r\n", "a chunk's size with 0x": b"0x0\r\n\r\n",
        "a signed size": b"+0\r\n\r\n", "a size that ends with LF": b"0\n\n", "no size": b"\r\n\r\n",
        "a blank before the size": b" 0\r\n\r\n", "data that ends with LF": b"1\r\na\n0\r\n\r\n",
        "data longer than its size": b"1\r\nab\r\n0\r\n\r\n", "an extension with LF": b"1;a\nb\r\na\r\n0\r\n\r\n",
        "a blank behind the size": b"0 \r\n\r\n", "a trailer with LF": b"0\r\nX: a\n\r\n",
        "a trailer that is a Host": b"0\r\nHost: other.hutch.test\r\n\r\n", "a negative size": b"-1\r\n\r\n",
        "an endless size": b"0" * 100000,
    }.items():  # fmt: skip
        deny(f"chunks: {what}", 80, after(GOOD, chunked, body=body))
    inside = b"GET /" + MARK + b" HTTP/1.1\r\nHost: other.hutch.test\r\n\r\n"
    passes("a body that looks like a request is a body", 80,
        get(GOOD, b"Content-Length: %d\r\n" % len(inside), line=b"POST / HTTP/1.1\r\n") + inside)
    passes("a chunk that looks like a request is a chunk", 80,
        get(GOOD, chunked, line=b"POST / HTTP/1.1\r\n") + b"%x\r\n" % len(inside) + inside + b"\r\n0\r\n\r\n")
    passes("chunks and trailers", 80,
        get(GOOD, chunked, line=b"POST / HTTP/1.1\r\n") + b"1\r\nx\r\n00\r\nX: y\r\n\r\n" + get(GOOD))
    passes("Expect: 100-continue", 80, get(GOOD, b"Expect: 100-continue\r\nContent-Length: 32\r\n", line=b"POST / HTTP/1.1\r\n"), 0.05,
        MARK)


def later():
    """What comes second."""
    first = get(GOOD, line=b"GET /first HTTP/1.1\r\n")
    for what, request in {
        "another Host": EVIL, "two Hosts": get(GOOD, b"Host: other.hutch.test\r\n"),
        "absolute": get(GOOD, line=b"GET http://other.hutch.test/" + MARK + b" HTTP/1.1\r\n"), "no Host": get(),
        "CONNECT": b"CONNECT other.hutch.test:443 HTTP/1.1\r\n" + GOOD + b"X: " + MARK + b"\r\n\r\n",
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + MARK, "bytes": b"\0\1\2" + MARK,
        "TLS": b"\x16\x03\x01\x00\x30" + MARK + b"0" * 16,
        "blanks and another Host": b"  " + EVIL,
        "an upgrade": get(GOOD, b"Connection: Upgrade\r\nUpgrade: websocket\r\n", line=b"GET / HTTP/1.1\r\n") + MARK,
    }.items():  # fmt: skip
        for port, request_before in ((80, first), (7000, first.replace(b"test\r", b"test:7000\r"))):
            sent = request if port == 80 else request.replace(b"raw.hutch.test\r", b"raw.hutch.test:7000\r")
            deny(f"pipelined: {what}, port {port}", port, request_before + sent)
            deny(f"pipelined in a second segment: {what}, port {port}", port, request_before, 0.05, sent)
            deny(f"kept alive: {what}, port {port}", port, request_before, ANSWER, sent)
            deny(f"third: {what}, port {port}", port, request_before, ANSWER, request_before, ANSWER, sent)
    close = get(GOOD, b"Connection: close\r\n", line=b"GET /first HTTP/1.1\r\n")
    deny("after Connection: close", 80, close + EVIL)
    deny("after a HEAD", 80, get(GOOD, line=b"HEAD /first HTTP/1.1\r\n") + EVIL)
    deny("after a GET with a body", 80, after(GOOD, b"Content-Length: 3\r\n", body=b"abc", line=b"GET /first HTTP/1.1\r\n"))
    deny("after an upgrade that was not granted", 80,
        get(GOOD, b"Connection: Upgrade\r\nUpgrade: websocket\r\n", line=b"GET /first HTTP/1.1\r\n"), ANSWER, EVIL)
    deny("beside an upgrade", 80, get(GOOD, b"Connection: Upgrade\r\nUpgrade: websocket\r\n", line=b"GET /first HTTP/1.1\r\n") + EVIL)
    deny("an upgrade to HTTP/2 with more", 80,
        get(GOOD, b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n", line=b"GET /first HTTP/1.1\r\n"),
        ANSWER, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + MARK)
    passes("a second good one", 80, first, ANSWER, get(GOOD))
    passes("twenty good ones at once", 80, first * 19 + get(GOOD))


for part in hosts, lines, lenient, others, framing, later:
    part()
run()
