#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ordinary software works inside, with the default posture and all limits on.

load ../lib
load words

works() { # EXPECTED-STDOUT FLAG... -- COMMAND...
    local expected=$1
    shift
    result "$@"
    ended exited 0 null
    same stdout "$expected" "$(field .stdout)"
}

# The program on standard input, run by the sandbox's own python3.
python() { # EXPECTED-STDOUT
    works "$1" -- "$PYTHON" -c "$(cat)"
}

@test "python3 is the sandbox's own and prints 42 and nothing else" {
    plain -- python3 -c 'print(6*7)'
    same stdout 42 "$(cat "$WORK/out")"
    same stderr "" "$(cat "$WORK/said")"
}

@test "python3: threads" {
    python 4950 <<'END'
import threading
results = []
lock = threading.Lock()
def work(n):
    with lock: results.append(n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(100)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(results))
END
}

@test "python3: subprocess, with pipes, environment, working directory and a timeout" {
    python $'abc\n/tmp v\ntimeout' <<'END'
import os, subprocess
print(subprocess.run(["tr", "a-z", "a-z"], input="abc", text=True, capture_output=True, check=True).stdout)
print(subprocess.check_output("echo $PWD $X", shell=True, text=True, cwd="/tmp", env={**os.environ, "X": "v"}).strip())
try: subprocess.run(["sleep", "10"], timeout=0.2)
except subprocess.TimeoutExpired: print("timeout")
END
}

@test "python3: multiprocessing, by fork, spawn and forkserver, with a pool, a queue, a lock and shared memory" {
    cat >"$WORK/program.py" <<'END'
import multiprocessing as mp
from multiprocessing import shared_memory

def square(n): return n * n

def child(queue, lock, name):
    memory = shared_memory.SharedMemory(name=name)
    with lock:
        memory.buf[0] = 7
    memory.close()
    queue.put("done")

if __name__ == "__main__":
    for method in "fork", "spawn", "forkserver":
        context = mp.get_context(method)
        with context.Pool(3) as pool: total = sum(pool.map(square, range(20)))
        memory = shared_memory.SharedMemory(create=True, size=16)
        queue, lock = context.Queue(), context.Lock()
        process = context.Process(target=child, args=(queue, lock, memory.name))
        process.start()
        answer = queue.get(timeout=20)
        process.join()
        print(method, total, answer, memory.buf[0], process.exitcode)
        memory.close()
        memory.unlink()
END
    chmod 644 "$WORK/program.py"
    works $'fork 2470 done 7 0\nspawn 2470 done 7 0\nforkserver 2470 done 7 0' --mount "$WORK/program.py:/program.py:ro" -- "$PYTHON" /program.py
}

@test "python3: asyncio, with tasks, subprocesses, sockets on loopback and signals" {
    python $'[0, 1, 2, 3, 4]\nfrom a child\necho: hello\nsignal' <<'END'
import asyncio, os, signal
async def value(n):
    await asyncio.sleep(0.01 * n)
    return n
async def serve(reader, writer):
    writer.write(b"echo: " + await reader.readline())
    writer.close()
async def main():
    print(await asyncio.gather(*(value(n) for n in range(5))))
    process = await asyncio.create_subprocess_exec("echo", "from a child", stdout=asyncio.subprocess.PIPE)
    print((await process.communicate())[0].decode().strip())
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\n")
    print((await reader.readline()).decode().strip())
    server.close()
    caught = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, caught.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(caught.wait(), 5)
    print("signal")
asyncio.run(main())
END
}

@test "python3: sqlite3, in memory, on disk with WAL, and from two processes" {
    python $'wal\n3000' <<'END'
import os, sqlite3
sqlite3.connect(":memory:").execute("select 1")
path = "/workspace/test.db"
db = sqlite3.connect(path)
print(db.execute("pragma journal_mode=wal").fetchone()[0])
db.execute("create table t (n integer)")
db.commit()
pids = []
for worker in range(3):
    pid = os.fork()
    if pid == 0:
        own = sqlite3.connect(path, timeout=20)
        for n in range(10):
            with own: own.executemany("insert into t values (?)", [(n,)] * 100)
        os._exit(0)
    pids.append(pid)
for pid in pids:
    assert os.waitpid(pid, 0)[1] == 0
print(sqlite3.connect(path).execute("select count(*) from t").fetchone()[0])
END
}

@test "python3: a virtual environment is made and used, pip included where the host has it" {
    if "$PYTHON" -c 'import ensurepip' 2>/dev/null; then
        result --timeout 120s -- sh -c 'python3 -m venv /tmp/venv && . /tmp/venv/bin/activate && pip --version | cut -d" " -f1 && python -c "import sys; print(sys.prefix)"'
        ended exited 0 null
        same stdout $'pip\n/tmp/venv' "$(field .stdout)"
    else
        works /tmp/venv -- sh -c 'python3 -m venv --without-pip /tmp/venv && /tmp/venv/bin/python -c "import sys; print(sys.prefix)"'
    fi
}

@test "gcc builds a program and it runs" {
    works "hello from 3 objects: 42" -- sh -c '
        printf "int a(void) { return 40; }\n" >a.c
        printf "#include <math.h>\nint b(double x) { return (int)sqrt(x); }\n" >b.c
        printf "#include <stdio.h>\nint a(void); int b(double); int main(void) { printf(\"hello from 3 objects: %%d\\\\n\", a() + b(4)); }\n" >main.c
        gcc -O2 -Wall -pipe -c a.c b.c main.c && gcc -o program a.o b.o main.o -lm && ./program'
}

@test "gcc: make -j with a sanitizer-free build of many files" {
    works 40 -- sh -c 'for i in $(seq 40); do echo "int f$i(void) { return $i; }" >f$i.c; done
        printf "OBJ := \$(patsubst %%.c,%%.o,\$(wildcard f*.c))\nlib.a: \$(OBJ)\n\t@ar rcs lib.a \$(OBJ)\n%%.o: %%.c\n\t@gcc -c \$< -o \$@\n" >Makefile
        make -s -j4 && ar t lib.a | wc -l'
}

@test "git clones a mounted repository, commits and shows its log" {
    local repo=$WORK/repo
    mkdir "$repo"
    (
        cd "$repo" || exit
        git init -q -b main .
        git config user.email t@example.org
        git config user.name T
        echo one >file
        git add file
        git commit -qm first
        echo two >>file
        git commit -qam second
    )
    [ "$HUTCH_TEST_AS" = root ] || chown -R "$TEST_UID:$TEST_UID" "$repo"
    works $'third\nsecond\nfirst\nmain' --mount "$repo:/repo:ro" -- sh -c '
        git clone -q /repo clone && cd clone && git config user.email s@example.org && git config user.name S &&
        echo three >>file && git commit -qam third && git log --format=%s && git branch --show-current && git fsck --no-progress && git gc -q'
    same "the original" "second first" "$(git -C "$repo" -c safe.directory='*' log --format=%s | xargs)"
}

@test "node runs a script with worker threads, promises, a child process and an HTTP server on loopback" {
    command -v node >/dev/null || skip "node is not installed"
    cat >"$WORK/script.js" <<'END'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { execFile } = require('child_process');
const http = require('http');
if (!isMainThread) {
  let total = 0;
  for (let i = 0; i <= workerData; i++) total += i;
  parentPort.postMessage(total);
} else {
  const run = (n) => new Promise((ok, bad) => new Worker(__filename, { workerData: n }).on('message', ok).on('error', bad));
  (async () => {
    console.log((await Promise.all([10, 100, 1000, 10000].map(run))).join(' '));
    console.log(await new Promise((ok, bad) => execFile('echo', ['child'], (e, out) => (e ? bad(e) : ok(out.trim())))));
    const server = http.createServer((_, response) => response.end('served')).listen(0, '127.0.0.1', async () => {
      http.get({ port: server.address().port, host: '127.0.0.1' }, (response) => {
        response.on('data', (data) => console.log(data.toString()));
        response.on('end', () => server.close());
      });
    });
  })();
}
END
    chmod 644 "$WORK/script.js"
    works $'55 5050 500500 50005000\nchild\nserved' --mount "$WORK/script.js:/script.js:ro" --memory 1g --disk 256m -- node /script.js
}

@test "perl: hashes, regular expressions, fork and a pipe" {
    # shellcheck disable=SC2016
    works "a=2 b=1 child:6" -- perl -e '
        my %count; $count{$_}++ for "a b a" =~ /\w/g;
        print join(" ", map {"$_=$count{$_}"} sort keys %count), " ";
        open(my $pipe, "-|") // die $! or do { print "child:", 2 * 3; exit 0 };
        print <$pipe>, "\n"; close $pipe or die;'
}

@test "bash: pipelines, process substitution, here documents, traps, job control and coprocesses" {
    # shellcheck disable=SC2016
    works $'3\nsame\nhere\n2 7\ncoproc: hi\nbye' -- bash -c '
        set -euo pipefail
        trap "echo bye" EXIT
        printf "%s\n" c a b a | sort -u | wc -l
        diff <(seq 5) <(seq 5) && echo same
        cat <<<here
        set +e; (exit 2) & wait $!; a=$?; (exit 7) | cat; echo "$a ${PIPESTATUS[0]}"; set -e
        coproc { read -r line; echo "coproc: $line"; }
        echo hi >&"${COPROC[1]}"; read -r answer <&"${COPROC[0]}"; echo "$answer"'
}

@test "a program with 200 threads runs under the default limit" {
    works 200 -- sh -c '
        cat >threads.c <<END
#include <pthread.h>
#include <stdio.h>
static pthread_barrier_t barrier;
static int count;
static void *work(void *unused) { pthread_barrier_wait(&barrier); __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST); return unused; }
int main(void)
{
    pthread_t threads[200];
    pthread_barrier_init(&barrier, 0, 200);
    for (int i = 0; i < 200; i++) if (pthread_create(&threads[i], 0, work, 0)) return 1;
    for (int i = 0; i < 200; i++) pthread_join(threads[i], 0);
    printf("%d\n", count);
}
END
        gcc -O2 -pthread threads.c -o threads && ./threads'
    [ "$HUTCH_TEST_AS" = user ] || between pids_peak 201 256 "$(field .usage.pids_peak)"
}

@test "a program that uses 400 MiB runs under the default limit of 512 MiB" {
    works 400 -- sh -c '
        cat >memory.c <<END
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    int count = 0;
    for (; count < 400; count++) { char *p = malloc(1 << 20); if (!p) return 1; memset(p, count, 1 << 20); }
    printf("%d\n", count);
}
END
        gcc -O1 memory.c -o memory && ./memory'
}

@test "archives, text tools and checksums work on the writable layer" {
    works $'abc\n3' -- sh -c 'mkdir d && echo abc >d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/f &&
        printf "b\na\nc\n" | sort | awk "{n++} END {print n}" && sha256sum d/f | grep -q ^ && find . -name f | xargs grep -q abc && sed -i s/abc/def/ d/f'
}
