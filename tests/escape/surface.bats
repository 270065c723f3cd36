#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The kernel's surface: what surface.c tries is refused inside, and ordinary software works. The filter alone, and the same
# attempts without it, are tests of their own (meson.build).

load ../lib
load ../integration/words
load words

surface_copy() {
    mkdir -p "$WORK/bin"
    cp "$SURFACE" "$WORK/bin/surface"
    chmod 755 "$WORK/bin" "$WORK/bin/surface"
}

@test "every forbidden call is refused and every ordinary one works, as user and as user 0" {
    local user
    surface_copy
    for user in 1000 0 65535; do
        plain -u "$user" --timeout 120s --mount "$WORK/bin:/surface:ro" -- /surface/surface
        same "failures as user $user" "" "$(grep -E 'ALLOWED|BROKEN' "$WORK/out")"
        same "exit status as user $user" 0 "$status"
        between "attempts" 500 100000 "$(grep -c denied "$WORK/out")"
        between "ordinary calls" 30 1000 "$(grep -c works "$WORK/out")"
    done
}

@test "the surface is the same on another root filesystem and in a writable workspace" {
    needs_busybox
    local root ws
    surface_copy
    root=$(make_rootfs root)
    ws=$(user_dir ws)
    plain --timeout 120s --rootfs "$root" --workspace "$ws" --mount "$WORK/bin:/surface:ro" -- /surface/surface
    same "failures" "" "$(grep -E 'ALLOWED|BROKEN' "$WORK/out")"
    same "exit status" 0 "$status"
}

@test "a new program, thread or child has the filter too" {
    plain -- "$PYTHON" -c '
import os, subprocess, threading
def facts(path):
    return sorted(l.split()[0] + l.split()[1] for l in open(path) if l.startswith(("Seccomp:", "NoNewPrivs:", "CapEff:", "CapBnd:")))
mine = facts("/proc/self/status")
seen = []
t = threading.Thread(target=lambda: seen.append(facts("/proc/thread-self/status"))); t.start(); t.join()
pid = os.fork()
if pid == 0:
    os._exit(facts("/proc/self/status") != mine)
assert os.waitpid(pid, 0)[1] == 0
out = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
seen.append(sorted(l.split()[0] + l.split()[1] for l in out.splitlines() if l.startswith(("Seccomp:", "NoNewPrivs:", "CapEff:", "CapBnd:"))))
assert all(s == mine for s in seen), (mine, seen)
assert "Seccomp:2" in mine and "NoNewPrivs:1" in mine, mine
print("same")'
    same "what it said" same "$(cat "$WORK/out" "$WORK/said")"
}

@test "core dumps are off for good" {
    local ws
    ws=$(user_dir ws)
    plain --workspace "$ws" -- sh -c 'ulimit -c unlimited; ulimit -c; sh -c "kill -SEGV \$\$"; sh -c "kill -ABRT \$\$"; ls -A'
    not grep -q core "$WORK/out"
    same "what is in the workspace" "" "$(ls -A "$ws")"
}

@test "there is no network but the loopback" {
    plain -- "$PYTHON" -c '
import errno, socket
for address in (("1.1.1.1", 53), ("8.8.8.8", 443), ("169.254.169.254", 80), ("10.0.0.1", 80), ("192.168.0.1", 80), ("172.17.0.1", 2375)):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_INET, kind); s.settimeout(1)
        try:
            s.connect(address); s.send(b"x"); print("sent to", address, kind)
        except OSError as e:
            assert e.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL), (address, e)
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
c = socket.create_connection(s.getsockname()); c.send(b"hello"); print(s.accept()[0].recv(5).decode())'
    same "what it said" hello "$(cat "$WORK/out" "$WORK/said")"
}

@test "a server on the host's loopback or abstract socket is out of reach" {
    "$PYTHON" -c '
import socket, sys, time
t = socket.socket(); t.bind(("127.0.0.1", 0)); t.listen()
u = socket.socket(socket.AF_UNIX); u.bind("\0hutch-canary-%d" % t.getsockname()[1]); u.listen()
print(t.getsockname()[1], flush=True); time.sleep(60)' >"$WORK/port" &
    line_in "$WORK/port" '^[0-9]'
    local port program
    port=$(cat "$WORK/port")
    program="
import socket
for family, address in ((socket.AF_INET, ('127.0.0.1', $port)), (socket.AF_UNIX, '\\0hutch-canary-$port')):
    try:
        s = socket.socket(family); s.connect(address); print('reached', address)
    except ConnectionRefusedError:
        print('refused')"
    same "from inside" "refused refused" "$(hutch run -- "$PYTHON" -c "$program" | tr '\n' ' ' | sed 's/ $//')"
    same "the control, from the host" 2 "$("$PYTHON" -c "$program" | grep -c reached)"
    kill %1
    wait || true
}

@test "two sandboxes see nothing of each other" {
    local keeper
    start -- "$PYTHON" -c '
import ctypes, os, socket, time
open("/tmp/canary", "w").write("canary"); open("/dev/shm/canary", "w").write("canary")
libc = ctypes.CDLL(None)
print(libc.shmget(0x4242, 4096, 0o1666), libc.semget(0x4242, 1, 0o1666), libc.msgget(0x4242, 0o1666))
s = socket.socket(socket.AF_UNIX); s.bind("\0canary"); s.listen()
t = socket.socket(); t.bind(("127.0.0.1", 4242)); t.listen()
print("ready", flush=True); time.sleep(60)' >"$WORK/first" 2>&1
    keeper=$!
    line_in "$WORK/first" ready
    plain -- "$PYTHON" -c '
import ctypes, os, socket
libc = ctypes.CDLL(None)
found = [p for p in ("/tmp/canary", "/dev/shm/canary") if os.path.exists(p)]
found += [n for n, i in (("shm", libc.shmget(0x4242, 4096, 0)), ("sem", libc.semget(0x4242, 1, 0)), ("msg", libc.msgget(0x4242, 0))) if i >= 0]
for family, address in ((socket.AF_UNIX, "\0canary"), (socket.AF_INET, ("127.0.0.1", 4242))):
    try:
        socket.socket(family).connect(address); found.append(address)
    except OSError:
        pass
found += [p for p in os.listdir("/proc") if p.isdigit() and int(p) > 3]
print("found", *found)'
    same "what the second found of the first" "found" "$(cat "$WORK/out" "$WORK/said")"
    kill -TERM "$keeper"
    wait "$keeper" || true
}

@test "ordinary software works: Python, threads, subprocesses, asyncio, gcc, git, Perl, pipelines" {
    plain --timeout 120s --memory 1g -- "$PYTHON" -c '
import asyncio, concurrent.futures, multiprocessing, sqlite3, ssl, subprocess, tempfile, threading
with concurrent.futures.ThreadPoolExecutor(50) as pool:
    assert sum(pool.map(lambda n: n * n, range(100))) == 328350
def square(n):
    return n * n
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(square, range(10))[9] == 81
    async def main():
        p = await asyncio.create_subprocess_exec("echo", "hello", stdout=subprocess.PIPE)
        return (await p.communicate())[0]
    assert asyncio.run(main()) == b"hello\n"
    db = sqlite3.connect(tempfile.mktemp()); db.execute("create table t(x)"); db.commit()
    ssl.create_default_context()
    print("ok")'
    same "Python" ok "$(cat "$WORK/out" "$WORK/said")"
    plain --timeout 120s --memory 1g -- sh -ec '
cd /tmp
echo "#include <stdio.h>
int main(void) { puts(\"compiled\"); }" >a.c
gcc -O2 -o a a.c && ./a
git init -q r && cd r && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m m && git clone -q . ../s && git -C ../s log --oneline | wc -l
perl -e "print 6*7, qq(\n)"
seq 1000 | sort -rn | head -n 1 | tr -d 0'
    same "gcc, git, Perl, a pipeline" "compiled 1 42 1" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    command -v node >/dev/null || skip "no node here"
    plain --timeout 60s --memory 1g -- node -e '
const {Worker} = require("worker_threads");
new Worker("require(\"worker_threads\").parentPort.postMessage(6*7)", {eval: true}).on("message", m => console.log(m))'
    same "node" 42 "$(cat "$WORK/out")"
}
