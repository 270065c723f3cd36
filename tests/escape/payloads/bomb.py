# SPDX-License-Identifier: Apache-2.0
"""Takes as much of one thing as it can get; "hold" keeps it until it is killed."""
import ctypes.util
import fcntl
import mmap
import signal
import socket
import time

kind, hold = sys.argv[1], "hold" in sys.argv
BLOCK = b"x" * (1 << 20)
kept = []


def forever(step):
    """Until it is refused; tells how often it was not."""
    count = 0
    most = int(sys.argv[2]) if sys.argv[2:] and sys.argv[2].isdigit() else None
    try:
        while count != most:
            kept.append(step(count))
            count += 1
    except (OSError, MemoryError) as error:
        print("stopped after", count, getattr(error, "errno", None), flush=True)


def fill(path):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    return lambda count: os.write(fd, BLOCK)


def touched(memory):
    for offset in range(0, len(memory), 4096):
        memory[offset] = 1
    return memory


def memfd(count):
    fd = os.memfd_create("bomb")
    os.write(fd, BLOCK)
    return fd


def shm(count):
    identifier = libc.shmget(0, 1 << 20, 0o1600)
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(identifier, None, 0)
    if identifier < 0 or address in (None, ctypes.c_void_p(-1).value):
        raise OSError(28, "shm")
    ctypes.memset(address, 1, 1 << 20)


def pipes(count):
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    try:
        fcntl.fcntl(ends[1], 1031, 1 << 20)
    except OSError:
        pass
    try:
        while True:
            os.write(ends[1], BLOCK)
    except BlockingIOError:
        return ends


def sockets(count):
    pair = socket.socketpair()
    for end in pair:
        end.setblocking(False)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
    try:
        while True:
            pair[0].send(BLOCK)
    except BlockingIOError:
        return pair


def fork(count):
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    return pid


def tree(count):
    """Every process forks for itself."""
    os.fork()


def inotify(count):
    fd = libc.inotify_init()
    if fd < 0:
        raise OSError(ctypes.get_errno(), "inotify")
    return fd


STEPS = {
    "malloc": lambda count: touched(mmap.mmap(-1, 1 << 20)),
    "shared": lambda count: touched(mmap.mmap(-1, 1 << 20, mmap.MAP_SHARED)),
    "memfd": memfd,
    "shm": shm,
    "tmpfs": lambda count: fills(count),
    "pipes": pipes,
    "sockets": sockets,
    "files": lambda count: os.close(os.open("/tmp/f%d" % count, os.O_CREAT | os.O_WRONLY)),
    "directories": lambda count: (os.mkdir("d" * 200), os.chdir("d" * 200)) and None,
    "symlinks": lambda count: os.symlink("x" * 4000, "/tmp/s%d" % count),
    "links": lambda count: os.link("/tmp/one", "/tmp/l%d" % count),
    "fds": lambda count: os.open("/dev/null", os.O_RDONLY),
    "ptys": lambda count: os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY),
    "inotify": inotify,
    "fork": fork,
    "tree": tree,
    "threads": lambda count: __import__("_thread").start_new_thread(time.sleep, (1000,)),
}
if kind == "tmpfs":
    place = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] != "hold" else "/tmp"
    fills = fill(place + "/bomb")
if kind == "links":
    open("/tmp/one", "w").close()
if kind == "directories":
    os.chdir("/tmp")
if kind == "cpu":
    for _ in range(7):
        if os.fork() == 0:
            break
    while True:
        pass
if kind == "directories":
    # a bound of its own: paths this deep break most tools, which is the point
    count = 0
    try:
        while count < 20000:
            STEPS[kind](count)
            count += 1
    except OSError as error:
        print("stopped by", error.errno, flush=True)
    print("deep", count, flush=True)
else:
    forever(STEPS[kind])
if hold:
    time.sleep(1000)
sys.exit(1)
