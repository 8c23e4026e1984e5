/**
 * The program of a member's anchor, and the one that the agent talks to in it: Python's standard library alone, since every
 * engine's image has that. `anchor` sleeps until SIGTERM and holds the /dev/shm that the member's engines share. `serve` reads
 * one JSON object a line and answers each with one line, in order:
 *
 * - `{"id","op":"get","name"}`, `"list"`, `"delete"`;
 * - `{"id","op":"set","name","limit","create","most","until"}`: writes the limit alone, under the file's exclusive lock.
 *   `create`: a missing segment is made with it. `most`: a limit at or below it is left. What it answers was read anew, after
 *   the lock. After `until`, on the clock that `clock` tells, it writes nothing: who asked has given up;
 * - `{"id","op":"gpus"}`: the accounts of simulated GPUs, without engines that are dead.
 *
 * A segment is `[limit, used, preallocated]`; null: there is none.
 */
const PROGRAM = `
import fcntl, json, os, signal, struct, sys, time

SHM = "/dev/shm"
FORM = struct.Struct("<3q")
GPU = "simulated-gpu-"

def path_of(name):
    if not name or "/" in name or name.startswith("."):
        raise ValueError("not the name of a segment")
    return os.path.join(SHM, name)

def opened(path, create=False):
    try:
        return os.open(path, os.O_RDWR)
    except FileNotFoundError:
        if not create:
            return None
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        os.fchmod(fd, 0o666)
    except PermissionError:
        pass
    return fd

def locked(fd, act):
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        return act(os.pread(fd, FORM.size, 0))
    finally:
        os.close(fd)

def get(name):
    fd = opened(path_of(name))
    return None if fd is None else locked(fd, lambda data: FORM.unpack(data) if len(data) == FORM.size else None)

def put(name, limit, create=False, most=False):
    fd = opened(path_of(name), create)
    if fd is None:
        return None
    def write(data):
        whole = len(data) == FORM.size
        if not whole and not create:
            return
        if not whole:
            os.pwrite(fd, FORM.pack(limit, 0, 0), 0)
        elif not (most and FORM.unpack(data)[0] <= limit):
            os.pwrite(fd, struct.pack("<q", limit), 0)
    locked(fd, write)
    return get(name)

def delete(name):
    try:
        os.unlink(path_of(name))
    except FileNotFoundError:
        pass

def segments():
    names = [n for n in sorted(os.listdir(SHM)) if not n.startswith(GPU) and os.path.isfile(os.path.join(SHM, n))]
    found = {n: get(n) for n in names if os.path.getsize(os.path.join(SHM, n)) == FORM.size}
    return {n: s for n, s in found.items() if s is not None}

def lives(gpu, key):
    fd = opened(os.path.join(SHM, GPU + gpu + "." + key))
    if fd is None:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)

def gpus():
    found = []
    for name in sorted(os.listdir(SHM)):
        if not name.startswith(GPU) or "." in name:
            continue
        gpu = name[len(GPU):]
        fd = os.open(os.path.join(SHM, name), os.O_RDWR)
        account = locked(fd, lambda _: json.loads(os.pread(fd, os.fstat(fd).st_size, 0) or b"{}"))
        engines = [e for key, e in account.get("engines", {}).items() if lives(gpu, key)]
        found.append({"id": gpu, "engines": [{"segment": e.get("segment"), "bytes": e.get("mappedBytes", 0)} for e in engines]})
    return found

def answer(ask):
    op, name = ask["op"], ask.get("name", "")
    if op == "get":
        return get(name)
    if op == "set":
        if time.monotonic() > ask["until"]:
            raise TimeoutError("too late to write")
        return put(name, int(ask["limit"]), bool(ask.get("create")), bool(ask.get("most")))
    if op == "delete":
        return delete(name)
    return {"list": segments, "gpus": gpus, "clock": time.monotonic}[op]()

def serve():
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            out = {"id": ask["id"], "ok": answer(ask)}
        except Exception as why:
            out = {"id": ask["id"], "error": type(why).__name__ + ": " + str(why)}
        print(json.dumps(out), flush=True)

def anchor():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("anchor: /dev/shm is held", flush=True)
    while True:
        signal.pause()

os.umask(0)
serve() if sys.argv[1:] == ["serve"] else anchor()
`;

const KEEPER = ['python3', '-u', '-c', PROGRAM.trim()] as const;

/** What a member's session runs, from whatever image: its `entrypoint` and `command`. The engine's init reaps what is left. */
export const ANCHOR_PROCESS = { entrypoint: [...KEEPER], command: ['anchor'] } as const;

/** Run beside the anchor, in its container, for as long as somebody talks to it: it ends with its input. */
export const KEEPER_COMMAND: readonly string[] = [...KEEPER, 'serve'];
