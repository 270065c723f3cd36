# SPDX-License-Identifier: Apache-2.0
"""Looks for what must not be there: secrets, homes, devices and filesystems of the host."""
import stat

NAMES = """/etc/shadow /etc/gshadow /etc/sudoers /etc/machine-id /etc/ssh /etc/ssl/private /etc/fstab /etc/resolv.conf /etc/crontab
/etc/environment /etc/hutch /root/.ssh /root/.bashrc /home/ubuntu /var/lib /var/log /var/run/docker.sock /run/docker.sock
/run/systemd /run/user /run/dbus /run/secrets /boot /opt /srv /mnt /media /old_root /.oldroot /.dockerenv
/lost+found /sys/kernel /sys/fs /sys/class /dev/shm/. /tmp/..data""".split()
for name in NAMES:
    if name == "/dev/shm/.":
        continue
    attempt("there is " + name, lambda: os.lstat(name))
for name in ("/proc/kcore", "/proc/kmsg", "/proc/kallsyms.gz", "/proc/vmallocinfo", "/proc/slabinfo", "/proc/kpagecgroup", "/proc/pagetypeinfo"):
    attempt("read " + name, lambda: require(open(name, "rb").read(16)))
for name in ("/proc/keys", "/proc/cmdline", "/proc/interrupts", "/proc/timer_list", "/proc/sched_debug"):
    attempt("content of " + name, lambda: require(open(name, "rb").read(16), "empty"))


def devices():
    allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
    found = []
    for place, directories, files in os.walk("/"):
        directories[:] = [d for d in directories if os.path.join(place, d) not in ("/proc", "/usr")]
        for name in files:
            mode = os.lstat(os.path.join(place, name)).st_mode
            if (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) and name not in allowed and not place.startswith("/dev/pts"):
                found.append(os.path.join(place, name))
    return require(found, "none")


if "everywhere" in sys.argv:
    attempt("a device beyond the six", devices)
attempt("a kernel symbol's address", lambda: require([l for l in open("/proc/kallsyms") if l.split()[0].strip("0")][:1]))
attempt("a process of the host", lambda: require([p for p in os.listdir("/proc") if p.isdigit() and int(p) > 500]))
attempt("a network interface", lambda: require([l for l in open("/proc/net/dev") if ":" in l and "lo:" not in l]))
attempt("a host name", lambda: require(os.uname().nodename != "hutch"))
attempt("a listening socket of the host", lambda: require([l for l in open("/proc/net/unix")][1:]))
