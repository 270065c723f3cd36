# SPDX-License-Identifier: Apache-2.0
"""Opens for writing whatever the kernel can be steered by. Nothing is written: outside, this would be the host."""
KNOBS = """
/proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/hotplug /proc/sys/kernel/poweroff_cmd
/proc/sys/kernel/sysrq /proc/sysrq-trigger /proc/sys/kernel/panic /proc/sys/kernel/kptr_restrict
/proc/sys/kernel/randomize_va_space /proc/sys/kernel/yama/ptrace_scope /proc/sys/kernel/hostname /proc/sys/kernel/domainname
/proc/sys/kernel/ns_last_pid /proc/sys/kernel/shmmax /proc/sys/kernel/msgmax /proc/sys/kernel/sem
/proc/sys/fs/binfmt_misc/register /proc/sys/fs/binfmt_misc/status /proc/sys/fs/suid_dumpable /proc/sys/fs/mqueue/queues_max
/proc/sys/fs/inotify/max_user_instances /proc/sys/fs/protected_symlinks /proc/sys/vm/drop_caches
/proc/sys/vm/overcommit_memory /proc/sys/vm/panic_on_oom /proc/sys/vm/mmap_min_addr /proc/sys/net/ipv4/ip_forward
/proc/sys/net/core/bpf_jit_enable /proc/sys/user/max_user_namespaces /proc/sys/user/max_inotify_instances
/proc/irq/default_smp_affinity /proc/mtrr /proc/kcore /proc/kmsg /proc/kpagecount /proc/scsi/scsi /proc/acpi/wakeup
/proc/dynamic_debug/control /proc/driver/rtc /proc/fs/nfsd /proc/pressure/memory /proc/pressure/cpu /proc/pressure/io
/proc/timer_list /proc/latency_stats /proc/bus/pci/00/00.0 /proc/self/oom_score_adj /proc/self/uid_map /proc/self/gid_map
/proc/self/setgroups /proc/self/attr/exec /proc/self/loginuid /proc/self/timens_offsets
/sys/kernel/uevent_helper /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/debug /sys/kernel/security
/sys/kernel/tracing/trace /sys/kernel/config /sys/power/state /sys/module/kernel/parameters /sys/fs/cgroup/release_agent
/sys/fs/cgroup/memory/release_agent /sys/fs/cgroup/devices/release_agent /sys/fs/cgroup/cgroup.procs
/sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/unified/cgroup.procs /sys/firmware/efi/efivars /sys/fs/bpf
/sys/block/vda/queue/scheduler /sys/bus/pci/rescan
/dev/mem /dev/kmem /dev/port /dev/kmsg /dev/sda /dev/vda /dev/loop0 /dev/loop-control /dev/fuse /dev/kvm /dev/net/tun
/dev/mapper/control /dev/userfaultfd /dev/console /dev/tty0 /dev/tty1 /dev/vhost-net /dev/cpu/0/msr /dev/hpet /dev/snapshot
/dev/disk /dev/input/event0 /dev/uinput /dev/bus/usb/001/001 /dev/vsock /dev/btrfs-control /dev/autofs
""".split()
WRITE = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def turn(path):
    """Also by a descriptor that was opened for reading, and by its directory."""
    try:
        os.close(os.open(path, WRITE))
        return "opened"
    except OSError as first:
        for way in ("/proc/self/root" + path, "/proc/self/cwd/../../.." + path, "/proc/thread-self/root" + path):
            try:
                os.close(os.open(way, WRITE))
                return "opened by " + way
            except OSError:
                pass
        try:
            held = os.open(path, os.O_PATH)
            os.close(os.open("/proc/self/fd/%d" % held, WRITE))
            return "opened by its descriptor"
        except OSError:
            raise first


for knob in KNOBS:
    attempt(knob, lambda: turn(knob))

# and everything else that is there, in whatever order the kernel tells it
count = 0
for top in ("/proc/sys", "/proc/irq", "/proc/fs", "/proc/bus", "/proc/driver", "/proc/acpi", "/proc/scsi", "/proc/tty", "/sys", "/proc/pressure"):
    for place, directories, files in os.walk(top):
        for name in files:
            count += 1
            try:
                os.close(os.open(os.path.join(place, name), WRITE))
            except OSError:
                continue
            print(os.path.join(place, name), "DONE (found)", flush=True)
for name in os.listdir("/proc"):
    path = "/proc/" + name
    if not name.isdigit() and os.path.isfile(path) and not os.path.islink(path):
        count += 1
        try:
            # what is masked shows the null device, which may be written to
            if os.stat(path).st_rdev == os.makedev(1, 3):
                continue
            os.close(os.open(path, WRITE))
        except OSError:
            continue
        print(path, "DONE (found)", flush=True)
print("files tried", count, flush=True)
attempt("a cgroup filesystem", lambda: require([line for line in open("/proc/self/mounts") if line.split()[2].startswith("cgroup")]))
attempt("a sysfs", lambda: require([line for line in open("/proc/self/mounts") if line.split()[2] == "sysfs"]))
