# SPDX-License-Identifier: Apache-2.0
"""Archives piece by piece, also such as no program writes."""

END = b"\0" * 1024


def octal(value, size):
    return b"%0*o\0" % (size - 1, value)


def base256(value, size):
    return bytes([0xFF if value < 0 else 0x80]) + (value & (1 << 8 * (size - 1)) - 1).to_bytes(size - 1, "big")


def header(name, kind=b"0", size=0, link=b"", mode=0o644, magic=b"ustar\x0000", **fields):
    """One header block; a field that is given as bytes is put in as it is."""
    size = size if isinstance(size, bytes) else octal(size, 12)
    mtime = fields.get("mtime", octal(1, 12))
    block = name.ljust(100, b"\0")[:100] + octal(mode, 8) + fields.get("uid", octal(0, 8)) + octal(0, 8) + size + mtime
    block += b" " * 8 + kind + link.ljust(100, b"\0")[:100] + magic
    block = block.ljust(345, b"\0") + fields.get("prefix", b"")
    block = bytearray(block.ljust(512, b"\0"))
    checksum = fields.get("checksum", b"%06o\0 " % sum(block))
    block[148:156] = checksum
    return bytes(block)


def padded(data):
    return data + b"\0" * (-len(data) % 512)


def file(name, data=b"data", **fields):
    return header(name, size=len(data), **fields) + padded(data)


def directory(name, **fields):
    return header(name, b"5", mode=fields.pop("mode", 0o755), **fields)


def symlink(name, target):
    return header(name, b"2", link=target)


def hardlink(name, target, **fields):
    return header(name, b"1", link=target, **fields)


def record(key, value):
    body = b" " + key + b"=" + value + b"\n"
    length = len(body) + 1
    while len(b"%d" % length) + len(body) != length:
        length += 1
    return b"%d" % length + body


def pax(*records, kind=b"x"):
    data = b"".join(records)
    return header(b"pax", kind, size=len(data)) + padded(data)


def gnu_long(name, kind=b"L"):
    return header(b"././@LongLink", kind, size=len(name) + 1, magic=b"ustar  \0") + padded(name + b"\0")


def sparse(name, real_size, map_text, data=b"", **fields):
    records = [record(b"GNU.sparse.major", b"1"), record(b"GNU.sparse.minor", b"0"), record(b"GNU.sparse.name", name),
               record(b"GNU.sparse.realsize", real_size)]
    return pax(*records) + file(b"GNUSparseFile.0/x", padded(map_text) + data, **fields)
