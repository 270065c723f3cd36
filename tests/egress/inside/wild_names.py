# SPDX-License-Identifier: Apache-2.0
"""Asks for 20,000 names that a wildcard allows. The first have addresses; sooner or later there are none left; exact names have theirs."""
import socket
import time

from attack import ask, question, reply_code

answered = refused = 0
for number in range(20000):
    start = time.monotonic()
    code = reply_code(ask(question(f"n{number}.wild.hutch.test".encode())))
    answered += code == (0, 1)
    refused += code == (2, 0)
    if code not in ((0, 1), (2, 0)) or time.monotonic() - start > 1:
        print(f"BAD n{number}: {code} after {time.monotonic() - start:.2f} s")
if answered < 100 or answered + refused != 20000:
    print(f"BAD {answered} answered, {refused} refused")
if reply_code(ask(question(b"raw.hutch.test"))) != (0, 1):
    print("BAD raw.hutch.test has no address any more")
socket.create_connection(("raw.hutch.test", 80), 2).close()
print("done")
