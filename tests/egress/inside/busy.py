# SPDX-License-Identifier: Apache-2.0
"""busy.py OWN OTHER ROUNDS WHEN: requests to its own host from then on, each with a token that only it knows; one attempt at another's."""
import json
import socket
import sys
import time

own, other, rounds, when = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
times, wrong = [], 0
time.sleep(max(0, when - time.time()))
for number in range(rounds):
    start = time.monotonic()
    with socket.create_connection((own, 80), 10) as sock:
        sock.sendall(f"GET /token/{own}/{number} HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while b"\n" not in answer.partition(b"\r\n\r\n")[2]:
            data = sock.recv(4096)
            if not data:
                break
            answer += data
    times.append(1000 * (time.monotonic() - start))
    wrong += answer.partition(b"\r\n\r\n")[2] != f"token of {own}\n".encode()
    time.sleep(0.25)
try:
    socket.create_connection((other, 80), 5)
    neighbour = "reached"
except OSError:
    neighbour = "denied"
print(json.dumps({"times": times, "wrong": wrong, "neighbour": neighbour}))
