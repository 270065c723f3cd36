# SPDX-License-Identifier: Apache-2.0
"""relay.py SOCKET ENGINE DIRECTORY: passes on what comes to SOCKET to the engine's own, and keeps what was said to the engine, each
connection in a file of its own."""
import itertools
import pathlib
import socket
import sys
import threading

own, engine, directory = sys.argv[1:]


def pump(source, sink, note):
    while data := source.recv(1 << 16):
        if note:
            note.write(data)
            note.flush()
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)


def serve(client, number):
    server = socket.socket(socket.AF_UNIX)
    server.connect(engine)
    with open(pathlib.Path(directory) / str(number), "wb") as note:
        back = threading.Thread(target=pump, args=(server, client, None), daemon=True)
        back.start()
        pump(client, server, note)
        back.join()


with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(own)
    listener.listen(16)
    for connection in itertools.count():
        threading.Thread(target=serve, args=(listener.accept()[0], connection), daemon=True).start()
