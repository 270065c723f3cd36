# SPDX-License-Identifier: Apache-2.0
"""Leaves processes behind that do not want to die: daemons, stopped trees, busy ones, holders of the output."""
import signal
import time

kind, count = sys.argv[1], int(sys.argv[2])
output_is_open = os.pipe()  # its writing end, held by everybody who still has the output


def daemonize():
    if os.fork():
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    return True


def close_output():
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(output_is_open[1])


BEHAVIOURS = {
    "sleep": lambda: time.sleep(1000),
    "quiet": lambda: (close_output(), time.sleep(1000)),
    "busy": lambda: [None for _ in iter(int, 1)],
    "stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "vfork": lambda: os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}) and time.sleep(1000),
    "write": lambda: [os.write(1, b"x" * 65536) for _ in iter(int, 1)],
    "fork": lambda: [breed() for _ in iter(int, 1)],
}


def breed():
    time.sleep(0.001)
    try:
        if os.fork() == 0:
            return
    except OSError:
        pass
    try:
        os.waitpid(-1, os.WNOHANG)
    except OSError:
        pass


for _ in range(count):
    try:
        if daemonize():
            BEHAVIOURS[kind]()
            time.sleep(1000)
    except OSError:
        break
if kind == "quiet":
    os.close(output_is_open[1])
    os.read(output_is_open[0], 1)
print("left behind", flush=True)
if "end" not in sys.argv:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if "stop" in sys.argv:
        os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(1000)
