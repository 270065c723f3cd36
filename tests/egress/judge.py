#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judge.py ROWS REACHED LEAST: prints a line for each attack whose end was wrong.

ROWS are inside/attack.py's, a JSON object a line; REACHED is the log of the fake world. An attack carries a marker that is nowhere
else: whether those bytes are in what a server received decides, whatever the attacker saw.
"""
import collections
import json
import sys

rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8") if line.startswith("{")]
received = collections.defaultdict(bytes)
for line in open(sys.argv[2], encoding="utf-8"):
    entry = json.loads(line)
    if entry["event"] == "bytes":
        received[entry["id"]] += bytes.fromhex(entry["data"])
everything = b"\n--\n".join(received.values())

if len(rows) < int(sys.argv[3]):
    print(f"only {len(rows)} attacks were made")
for row in rows:
    arrived = bytes.fromhex(row["marker"]) in everything
    about = f"{row['variant']}: saw {row['outcome']} after {row['ms']} ms"
    if row["must"] == "deny" and arrived:
        print(f"{about}: it has ARRIVED")
    if row["must"] == "deny" and row["ms"] > row.get("within_ms", 2500):
        print(f"{about}: it was kept waiting")
    if row["must"] == "pass" and not arrived:
        print(f"{about}: it has not arrived")
    if "sees" in row and row["outcome"] not in row["sees"]:
        print(f"{about}: expected one of {row['sees']}")
