# SPDX-License-Identifier: Apache-2.0
"""Upstream proxies, with a login: SOCKS5 on 1080, CONNECT on 3128. They take names alone, and write down which."""
import asyncio
import base64
import struct

import zone

USER, PASSWORD = b"prox", b"pr0xy-w0rd"


async def pass_on(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def join(reader, writer, name, port):
    records, _ = zone.answer(name, zone.A)
    there, back = await asyncio.open_connection(records[-1][2], port)
    await asyncio.gather(pass_on(reader, back), pass_on(there, writer))
    back.close()
    writer.close()


class Socks:
    def __init__(self, log):
        self.log = log

    async def __call__(self, reader, writer):
        try:
            _, count = await reader.readexactly(2)
            methods = await reader.readexactly(count)
            user = b""
            if 2 in methods:
                writer.write(b"\x05\x02")
                _, length = await reader.readexactly(2)
                user = await reader.readexactly(length)
                word = await reader.readexactly((await reader.readexactly(1))[0])
                good = (user, word) == (USER, PASSWORD)
                writer.write(b"\x01\x00" if good else b"\x01\x01")
                if not good:
                    raise ConnectionError
            else:
                writer.write(b"\x05\x00")
            _, command, _, kind = await reader.readexactly(4)
            size = (await reader.readexactly(1))[0] if kind == 3 else {1: 4, 4: 16}[kind]
            name = await reader.readexactly(size)
            port = struct.unpack("!H", await reader.readexactly(2))[0]
            self.log(event="socks", command=command, kind=kind, name=name.decode("latin-1"), port=port, user=user.decode())
            writer.write(b"\x05\x00\x00\x01\0\0\0\0\0\0")
            await join(reader, writer, name.decode("latin-1"), port)
        except (OSError, IndexError, asyncio.IncompleteReadError):
            writer.close()


class Connect:
    def __init__(self, log):
        self.log = log

    async def __call__(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            login = base64.b64encode(USER + b":" + PASSWORD).decode() in head
            method, target, _ = head.split("\r\n")[0].split(" ")
            name, _, port = target.rpartition(":")
            self.log(event="connect_proxy", method=method, name=name, port=int(port), login=login)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await join(reader, writer, name, int(port))
        except (OSError, ValueError, IndexError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()


async def start(log, addresses):
    for address in addresses:
        await asyncio.start_server(Socks(log), address, 1080)
        await asyncio.start_server(Connect(log), address, 3128)
