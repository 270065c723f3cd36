# SPDX-License-Identifier: Apache-2.0
"""A real registry on loopback, Debian's docker-registry, that tells how many bytes it has sent."""
import os
import re
import subprocess
import time

from world import Unavailable, check, end_process, find_program

START_TIMEOUT_S = 30
LOG_TIMEOUT_S = 2  # the registry writes its line when the client may have gone already
LISTENING = re.compile(r"listening on [^\"]*:(\d+)")
SENT = re.compile(r'"GET /v2/\S+ HTTP/[\d.]+" 20[06] (\d+)')
CONFIG = """version: 0.1
log:
  level: info
storage:
  filesystem:
    rootdirectory: {storage}
http:
  addr: 127.0.0.1:0
"""


class Registry:
    def __init__(self, world):
        self.skopeo, serve = find_program("skopeo"), find_program("docker-registry")
        self.log_path, config = world.path("registry.log"), world.path("registry.yml")
        with open(config, "w", encoding="utf-8") as text:
            text.write(CONFIG.format(storage=world.make_dir("registry")))
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([serve, "serve", config], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        world.on_close(end_process, self.process)
        self.address = f"127.0.0.1:{self._await_port()}"

    def _read_log(self, offset=0):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            log.seek(offset)
            return log.read()

    def _await_port(self):
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            found = LISTENING.search(self._read_log())
            if found:
                return found.group(1)
            time.sleep(0.05)
        raise Unavailable("docker-registry does not start")

    def fill(self, layout, repository):
        """Pushes an OCI layout as it is; returns the reference."""
        reference = f"{self.address}/{repository}"
        check([self.skopeo, "--insecure-policy", "copy", "-q", "--preserve-digests", "--dest-tls-verify=false",
               f"oci:{layout}", f"docker://{reference}"], timeout=600)
        return reference

    def mark(self):
        """A point in time, for sent_since."""
        return os.path.getsize(self.log_path)

    def sent_since(self, mark, expected):
        """How many bytes the answers had. Waits a little while they are fewer than expected."""
        deadline = time.monotonic() + LOG_TIMEOUT_S
        while True:
            sent = sum(map(int, SENT.findall(self._read_log(mark))))
            if sent >= expected or time.monotonic() > deadline:
                return sent
            time.sleep(0.02)
