# SPDX-License-Identifier: Apache-2.0
"""Sends PID 1 every signal by every call, then shows that it still reaps."""
import signal
import time

SYS_TGKILL, SYS_TKILL, SYS_RT_SIGQUEUEINFO, SYS_PIDFD_SEND_SIGNAL = 234, 200, 129, 424
for number in range(1, 65):
    for send in (
        lambda: os.kill(1, number),
        lambda: syscall(SYS_TKILL, 1, number),
        lambda: syscall(SYS_TGKILL, 1, 1, number),
        lambda: syscall(SYS_PIDFD_SEND_SIGNAL, os.pidfd_open(1), number, 0, 0),
    ):
        try:
            send()
        except OSError:
            pass
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(20000):  # a flood of what it does listen to
    try:
        os.kill(1, signal.SIGCHLD)
    except OSError:
        break
for _ in range(50):
    pid = os.fork()
    if pid == 0:
        grandchild = os.fork()
        os._exit(0) if grandchild else os._exit(3)
    os.waitpid(pid, 0)


def state(pid):
    try:
        with open("/proc/%s/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


deadline = time.time() + 5
while time.time() < deadline:
    zombies = [pid for pid in os.listdir("/proc") if pid.isdigit() and state(pid) == "Z"]
    if not zombies:
        break
    time.sleep(0.05)
print("zombies", len(zombies), flush=True)
time.sleep(float(sys.argv[1]))
