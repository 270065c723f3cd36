#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""main.py DIRECTORY: the fake world behind a gateway. It runs in network and mount namespaces of its own: see ../upstream.bash.

DIRECTORY has server.pem and server.key, static/ and git/; it gets questions.log (the name server's) and reached.log (all others'),
a JSON object a line, and ready once all listen. It ends with its parent.
"""
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time

import name_server
import places
import raw_servers
import socks
import web_server


class Log:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1, encoding="utf-8")

    def __call__(self, **fields):
        self.file.write(json.dumps({"time": time.time(), **fields}) + "\n")


def make_addresses():
    lines = ["link set lo up"]
    for address in places.all_bound():
        if not address.startswith("127.") and address != "::1":
            lines.append(f"addr add {address}/{128 if ':' in address else 32} dev lo" + (" nodad" if ":" in address else ""))
    # without these a dial to nowhere would fail by itself, whoever has checked it
    lines += ["route add local 0.0.0.0/8 dev lo", "route add local 240.0.0.0/4 dev lo"]
    subprocess.run(["ip", "-force", "-batch", "-"], input="\n".join(lines), text=True, check=True)


async def until_alone(parent):
    while os.getppid() == parent:
        await asyncio.sleep(0.5)


async def stream():
    """Streams are another process's, which comes last: those who read without end take nothing from the other servers."""
    parent = os.getppid()
    os.nice(19)
    await raw_servers.start_streams(places.STREAM)
    await until_alone(parent)


async def main(directory):
    """In the world these are other machines: what this one is busy with does not keep them waiting."""
    parent = os.getppid()
    with contextlib.suppress(PermissionError):  # in a cpu group that has no time for it
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    questions, reached = Log(os.path.join(directory, "questions.log")), Log(os.path.join(directory, "reached.log"))
    await name_server.start(questions, places.NAMESERVER)
    await web_server.start(reached, directory, places.WEB)
    await raw_servers.start(reached, places.RAW, (80, 443, 5432, 7000, 7001), "raw")
    await raw_servers.start(reached, places.OTHER, (80, 443, 7000, 8080), "other")
    await raw_servers.start(reached, places.TRAPS, (80, 443, 7000), "trap")
    await raw_servers.start_redis(reached, places.REDIS)
    await socks.start(reached, places.PROXY)
    with open(os.path.join(directory, "ready"), "w", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    await until_alone(parent)


make_addresses()
if os.fork() == 0:
    asyncio.run(stream())
else:
    asyncio.run(main(sys.argv[1]))
