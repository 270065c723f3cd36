#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal: terminal.py HUTCH HOST "WORDS" types into a shell there, and holds what it shows against what it should."""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time


def resize(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


class Person:
    def __init__(self, argv):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            time.sleep(0.2)  # until the terminal has its size
            os.execv(argv[0], argv)
        resize(self.fd, 40, 100)
        self.seen = b""

    def types(self, text):
        os.write(self.fd, text)

    def sees(self, text, seconds=20):
        end = time.time() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], 0.1)
            try:
                data = os.read(self.fd, 65536) if ready else b""
            except OSError:
                data = None
            if data is None or time.time() > end:
                sys.exit(f"waited for {text!r}, saw {self.seen!r}")
            self.seen += data
        self.seen = self.seen.split(text, 1)[1]

    def leaves(self):
        for _ in range(200):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    time.sleep(0.05)
        os.kill(self.pid, 9)
        sys.exit("it does not end")


def main():
    hutch, host, words = sys.argv[1:]
    person = Person([hutch, "--host", host, *words.split()])
    person.types(b"echo be''gun; stty size; tty\n")
    person.sees(b"begun\r\n")
    person.sees(b"40 100\r\n")
    person.sees(b"/dev/pts/")
    resize(person.fd, 33, 77)
    time.sleep(0.5)
    person.types(b"stty size\n")
    person.sees(b"33 77\r\n")
    person.types(b"echo sle''eps; sleep 60\n")
    person.sees(b"sleeps\r\n")
    time.sleep(0.3)
    person.types(b"\x03")
    person.types(b"echo af''ter; exit 9\n")
    person.sees(b"after\r\n")
    status = person.leaves()
    if status != 9:
        sys.exit(f"it ended with {status}")


if __name__ == "__main__":
    main()
