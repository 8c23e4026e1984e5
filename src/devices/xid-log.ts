/**
 * Xid errors after which a GPU (or its memory, link or firmware) is not to be trusted. Those that a program causes itself
 * (13, 31, 43, 45, 68 and others) are not among them: they end that program and nothing else.
 */
const FATAL: Readonly<Record<number, string>> = {
  48: 'double-bit ECC error',
  62: 'internal micro-controller halt',
  64: 'a row or page could not be retired',
  74: 'NVLink error',
  79: 'it has fallen off the bus',
  95: 'uncontained ECC error',
  119: 'its firmware does not answer (GSP)',
  120: 'error of its firmware (GSP)',
  140: 'unrecovered ECC error',
  143: 'it could not be initialised',
};

export interface FatalXid {
  /** Domain, bus and device as numbers: the log and nvidia-smi write them with different widths. */
  readonly place: string;
  readonly reason: string;
}

const LINE = /^\[\s*(\d+\.\d+)\].*NVRM: Xid \(PCI:([0-9a-f:.]+)\): (\d+)/i;

/** Fatal errors in the kernel's log (`dmesg`, seconds since boot) from that second on. */
export function fatalXids(log: string, fromSeconds: number): readonly FatalXid[] {
  return log.split('\n').flatMap((line) => {
    const [, seconds, busId, code] = LINE.exec(line) ?? [];
    const meaning = FATAL[Number(code)];
    if (busId === undefined || meaning === undefined || Number(seconds) < fromSeconds) return [];
    return [{ place: placeOf(busId), reason: `Xid ${code}: ${meaning}` }];
  });
}

/** `0000:41:00` and `00000000:41:00.0` are one place. */
export function placeOf(busId: string): string {
  const [domain = '0', bus = '0', device = '0'] = busId.split(':');
  return [domain, bus, device.split('.')[0] ?? '0'].map((part) => Number.parseInt(part, 16)).join(':');
}
