# Runs a command whose standard input and output are pipes that do not block: its input comes in parts, each once it waits for
# it, and its output is read once it waits for room, of which there is little.
import fcntl
import os
import pathlib
import sys
import time

POLL = "73" if os.uname().machine == "aarch64" else "7"


def waits(process):
    """Until a thread of the process is in poll(2); false where it has ended."""
    folder = pathlib.Path(f"/proc/{process}")
    # One that has ended stays a zombie until it is waited for.
    while (folder / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
        for task in (folder / "task").iterdir():
            try:
                if (task / "syscall").read_text().split()[:1] == [POLL]:
                    return True
            except OSError:  # The thread has ended.
                pass
        time.sleep(0.001)
    return False


input_end, feed = os.pipe()
drain, output_end = os.pipe()
fcntl.fcntl(output_end, fcntl.F_SETPIPE_SZ, 4096)
child = os.fork()
if child == 0:
    os.dup2(input_end, 0)
    os.dup2(output_end, 1)
    for end in (input_end, feed, drain, output_end):
        os.close(end)
    os.set_blocking(0, False)
    os.set_blocking(1, False)
    os.execv(sys.argv[1], sys.argv[1:])
os.close(input_end)
os.close(output_end)
for rows in (1, 2_999):
    if waits(child):
        os.write(feed, b"x\n" * rows)
os.close(feed)
waits(child)
while chunk := os.read(drain, 1 << 16):
    os.write(1, chunk)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
