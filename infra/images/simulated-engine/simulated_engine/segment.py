"""kvcached's segment: limit, used, preallocated as little-endian int64, each access under an exclusive file lock."""
import fcntl
import os
import struct

SHM = "/dev/shm"
FORMAT = struct.Struct("<3q")


class Segment:
    """`None` from a read: there is no segment of that name."""

    def __init__(self, name: str) -> None:
        self.path = os.path.join(SHM, os.path.basename(name))

    def read(self):
        try:
            fd = os.open(self.path, os.O_RDWR)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            data = os.pread(fd, FORMAT.size, 0)
            return FORMAT.unpack(data) if len(data) == FORMAT.size else None
        finally:
            os.close(fd)

    def change(self, decide, create: bool = False):
        """Writes what `decide((limit, used, preallocated) or None)` gives, in one hold of the lock; None writes nothing."""
        flags = os.O_RDWR | (os.O_CREAT if create else 0)
        try:
            fd = os.open(self.path, flags, 0o666)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            data = os.pread(fd, FORMAT.size, 0)
            found = FORMAT.unpack(data) if len(data) == FORMAT.size else None
            wanted = decide(found)
            if wanted is not None and wanted != found:
                os.pwrite(fd, FORMAT.pack(*wanted), 0)
            return wanted
        finally:
            os.close(fd)

    def remove(self) -> None:
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
