#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill_many.py KILLS ACKNOWLEDGED FLAGS PROGRAM...: starts runs, four at a time, and kills each with SIGKILL at a random moment of its
life; every tenth is left alone. The ids that results told are written into the file ACKNOWLEDGED. Beside them the audit is
collected again and again, and who does that is killed, too."""
import json
import random
import subprocess
import sys
import threading
import time

kills, path, flags, program = int(sys.argv[1]), sys.argv[2], sys.argv[3].split(), sys.argv[4:]
lock = threading.Lock()
done = 0
acknowledged = []
seen_ms = 30.0  # about as long as a run takes here


def start(*words):
    return subprocess.Popen([*program, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)


def take_turn():
    global done
    with lock:
        if done >= kills:
            return False
        done += 1
        return True


def runs():
    global seen_ms
    while take_turn():
        begin = time.monotonic()
        process = start("run", "--json", *flags, "--", "true")
        if random.random() > 0.1:
            time.sleep(random.random() * seen_ms / 1000)
            process.kill()
            process.communicate()
            continue
        out, _ = process.communicate()
        seen_ms = 0.8 * seen_ms + 0.2 * (time.monotonic() - begin) * 1000
        if process.returncode == 0:
            with lock:
                acknowledged.append(json.loads(out)["id"])


def collects():
    while done < kills:
        process = start("audit", "--json")
        time.sleep(random.random() * 0.1)
        process.kill()
        process.communicate()


threads = [threading.Thread(target=runs) for _ in range(4)] + [threading.Thread(target=collects)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(path, "w", encoding="ascii") as file:
    file.writelines(name + "\n" for name in acknowledged)
