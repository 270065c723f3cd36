# SPDX-License-Identifier: Apache-2.0
"""A name server, on UDP and TCP, that writes down each question: the oracle for what a gateway asks about."""
import asyncio
import ipaddress
import struct

import zone

NXDOMAIN, SERVFAIL = 3, 2


def pack_name(name):
    return b"".join(bytes([len(label)]) + label.encode("latin-1") for label in name.split(".")) + b"\0"


def read_question(packet):
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode("latin-1"))
        at += 1 + packet[at]
    return ".".join(labels), *struct.unpack("!HH", packet[at + 1 : at + 5]), packet[12 : at + 5]


def pack_record(owner, kind, value):
    data = pack_name(value) if kind == zone.CNAME else ipaddress.ip_address(value).packed
    return pack_name(owner) + struct.pack("!HHIH", kind, 1, 5, len(data)) + data


def pack_reply(ident, question, records, rcode=0, truncated=False):
    flags = 0x8580 | rcode | (0x0200 if truncated else 0)
    return struct.pack("!HHHHHH", ident, flags, 1, len(records), 0, 0) + question + b"".join(pack_record(*r) for r in records)


class NameServer(asyncio.DatagramProtocol):
    def __init__(self, log):
        self.log = log

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, packet, peer):
        for reply in self.replies(packet, "udp"):
            self.transport.sendto(reply, peer)

    def replies(self, packet, by):
        try:
            ident = struct.unpack("!H", packet[:2])[0]
            spelt, kind, _, question = read_question(packet)
        except (IndexError, struct.error):
            self.log(event="garbage", by=by, data=packet.hex())
            return []
        name = spelt.lower()
        self.log(event="question", by=by, name=name, spelt=spelt, type=kind)
        records, word = zone.answer(name, kind)
        good = pack_reply(ident, question, records, {"nxdomain": NXDOMAIN, "servfail": SERVFAIL}.get(word, 0))
        if word == "silent":
            return []
        if word == "garbage":  # a name that points at itself, and counts that promise more than there is
            return [struct.pack("!HHHHHH", ident, 0x8580, 1, 9, 0, 0) + question + b"\xc0\x2e" * 9]
        if name == "big.hutch.test" and by == "udp":
            return [pack_reply(ident, question, [], truncated=True)]
        if name == "forged.hutch.test":  # what comes first is not the answer: another number, another question
            inward = [(name, zone.A, "127.0.0.1")] if kind == zone.A else [(name, zone.AAAA, "::1")]
            stranger = pack_name("stranger.test") + question[-4:]
            return [pack_reply(ident ^ 0x5555, question, inward), pack_reply(ident, stranger, inward), good]
        return [good]

    async def serve_stream(self, reader, writer):
        try:
            while True:
                length = struct.unpack("!H", await reader.readexactly(2))[0]
                for reply in self.replies(await reader.readexactly(length), "tcp"):
                    writer.write(struct.pack("!H", len(reply)) + reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def start(log, addresses):
    loop = asyncio.get_running_loop()
    for address in addresses:
        _, server = await loop.create_datagram_endpoint(lambda: NameServer(log), local_addr=(address, 53))
        await asyncio.start_server(server.serve_stream, address, 53)
