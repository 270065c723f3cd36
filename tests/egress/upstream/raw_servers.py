# SPDX-License-Identifier: Apache-2.0
"""Servers that take whatever comes and write down every byte, and some that stream."""
import asyncio

QUIET = 0.4  # seconds of silence after which a recorder hangs up
ALERT = bytes.fromhex("15030300020228")


def addresses_of(writer):
    local, peer = writer.get_extra_info("sockname"), writer.get_extra_info("peername")
    return {"local": local[0] if local else "", "port": local[1] if local else 0, "peer": peer[0] if peer else ""}


class Recorder:
    """Answers each end of a head as if it had been a request, and TLS with an alert."""

    def __init__(self, log, kind):
        self.log, self.kind, self.count = log, kind, 0

    async def __call__(self, reader, writer):
        self.count += 1
        about = {"id": f"{self.kind}{self.count}", "kind": self.kind, **addresses_of(writer)}
        self.log(event="connect", **about)
        first = b""
        try:
            while data := await asyncio.wait_for(reader.read(65536), QUIET if first else 20):
                first = first or data
                self.log(event="bytes", id=about["id"], data=data.hex())
                if first[0] != 0x16:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n" * data.count(b"\r\n\r\n"))
        except (asyncio.TimeoutError, ConnectionError):
            if first[:1] == b"\x16":
                writer.write(ALERT)
        writer.close()


async def echo(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        pass
    writer.close()


async def sink(reader, writer):
    """Says at the end how much it got: half-closed connections work."""
    total = 0
    try:
        while data := await reader.read(1 << 18):
            total += len(data)
        writer.write(b"%d\n" % total)
    except OSError:
        pass
    writer.close()


async def source(_, writer):
    try:
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def banner(reader, writer):
    """Speaks first, as SSH, SMTP and MySQL do."""
    try:
        writer.write(b"220 hutch ready\r\n")
        line = await reader.readline()
        writer.write(b"250 " + line)
    except OSError:
        pass
    writer.close()


class Redis:
    """Enough of the protocol for redis-cli: PING, SET, GET."""

    def __init__(self, log):
        self.log, self.values = log, {}

    async def __call__(self, reader, writer):
        try:
            while line := await reader.readline():
                words = []
                for _ in range(int(line[1:])):
                    length = int((await reader.readline())[1:])
                    words.append((await reader.readexactly(length + 2))[:-2])
                self.log(event="redis", words=[word.decode("latin-1") for word in words])
                writer.write(self.reply(words))
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pass
        writer.close()

    def reply(self, words):
        verb = words[0].upper()
        if verb == b"SET":
            self.values[words[1]] = words[2]
            return b"+OK\r\n"
        if verb == b"GET":
            value = self.values.get(words[1])
            return b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)
        return b"+PONG\r\n" if verb == b"PING" else b"-ERR unknown command\r\n"


async def start(log, addresses, ports, kind):
    recorder = Recorder(log, kind)
    for address in addresses:
        for port in ports:
            await asyncio.start_server(recorder, address, port, backlog=256)


async def start_streams(addresses):
    for address in addresses:
        for port, server in {7: echo, 9: sink, 19: source, 25: banner}.items():
            await asyncio.start_server(server, address, port, backlog=256)


async def start_redis(log, addresses):
    for address in addresses:
        await asyncio.start_server(Redis(log), address, 6379)
