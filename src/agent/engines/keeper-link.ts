import { PassThrough } from 'node:stream';
import type { Containers } from '../../docker/containers.js';
import type { Segment } from '../../engines/segment-codec.js';
import { KEEPER_COMMAND } from '../../engines/segment-keeper.js';

/** What simulated GPUs say of who takes how much of them. */
export interface SimulatedGpu {
  readonly id: string;
  readonly engines: readonly { readonly segment: string | null; readonly bytes: number }[];
}

export interface SegmentWrite {
  readonly limitBytes: number;
  /** A missing segment is made. */
  readonly create?: boolean;
  /** A limit that is at or below it already is left as it is. */
  readonly atMost?: boolean;
}

/** A member's /dev/shm. Every call throws `KeeperFailure` when no answer comes; none of them harms when it is done twice. */
export interface KeeperLink {
  readonly get: (name: string) => Promise<Segment | undefined>;
  /** What was read after the write: it may be another limit. Undefined: there is no segment. */
  readonly set: (name: string, write: SegmentWrite) => Promise<Segment | undefined>;
  readonly delete: (name: string) => Promise<void>;
  readonly list: () => Promise<ReadonlyMap<string, Segment>>;
  readonly gpus: () => Promise<readonly SimulatedGpu[]>;
  readonly close: () => void;
}

export class KeeperFailure extends Error {
  override readonly name = 'KeeperFailure';
}

export interface KeeperOptions {
  readonly timeoutMs?: number;
}

type Triple = readonly [number, number, number] | null;
const TIMEOUT_MS = 2_500;

/** One `exec` in the anchor for all questions, opened by the first one and again after it broke. */
export function createKeeperLink(
  containers: Pick<Containers, 'exec'>,
  anchor: string,
  { timeoutMs = TIMEOUT_MS }: KeeperOptions = {},
): KeeperLink {
  let line: OpenLine | undefined;
  const open = (): OpenLine => {
    if (line !== undefined && !line.isOver()) return line;
    const opened = openLine(containers, anchor);
    const aheadSeconds = clockOf(opened, timeoutMs);
    aheadSeconds.catch(() => undefined); // said to whoever asks next
    line = { ...opened, aheadSeconds };
    return line;
  };
  const ask = (question: Readonly<Record<string, unknown>>): Promise<unknown> => open().ask(question, timeoutMs);
  return {
    get: async (name) => segmentOf(await ask({ op: 'get', name })),
    set: async (name, { limitBytes, create = false, atMost = false }) => {
      const untilMs = performance.now() + timeoutMs;
      const until = (await open().aheadSeconds) + untilMs / 1000;
      return segmentOf(await ask({ op: 'set', name, limit: limitBytes, create, most: atMost, until }));
    },
    delete: async (name) => {
      await ask({ op: 'delete', name });
    },
    list: async () => {
      const found = Object.entries((await ask({ op: 'list' })) as Readonly<Record<string, Triple>>);
      return new Map(found.flatMap(([name, triple]) => withSegment(name, segmentOf(triple))));
    },
    gpus: async () => (await ask({ op: 'gpus' })) as readonly SimulatedGpu[],
    close: () => line?.close(),
  };
}

const withSegment = (name: string, segment: Segment | undefined): [string, Segment][] =>
  segment === undefined ? [] : [[name, segment]];

function segmentOf(answer: unknown): Segment | undefined {
  if (answer === null || answer === undefined) return undefined;
  const [limitBytes, usedBytes, preallocatedBytes] = answer as NonNullable<Triple>;
  return { limitBytes, usedBytes, preallocatedBytes };
}

interface OpenLine extends Line {
  /** What the keeper's clock shows more than this process's. */
  readonly aheadSeconds: Promise<number>;
}

/** Too little rather than too much: nothing is written after its time. */
async function clockOf(line: Line, timeoutMs: number): Promise<number> {
  const seconds = (await line.ask({ op: 'clock' }, timeoutMs)) as number;
  return seconds - performance.now() / 1000;
}

interface Line {
  readonly ask: (question: Readonly<Record<string, unknown>>, timeoutMs: number) => Promise<unknown>;
  readonly isOver: () => boolean;
  readonly close: () => void;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (why: Error) => void;
}

/** An answer that does not come in time ends the line: what comes after it could be anything. */
function openLine(containers: Pick<Containers, 'exec'>, anchor: string): Line {
  const stdin = new PassThrough();
  const ending = new AbortController();
  const waiting = new Map<number, Waiting>();
  let next = 1;
  let over: Error | undefined;

  const end = (why: Error): void => {
    if (over !== undefined) return;
    over = why;
    stdin.destroy();
    ending.abort();
    for (const { reject } of waiting.values()) reject(why);
    waiting.clear();
  };
  const settle = (text: string): void => {
    const { id, ok, error } = JSON.parse(text) as {
      readonly id: number;
      readonly ok?: unknown;
      readonly error?: string;
    };
    const asker = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asker?.resolve(ok);
    else asker?.reject(new KeeperFailure(`the keeper of ${anchor}: ${error}`));
  };
  const source = { name: anchor, command: KEEPER_COMMAND, options: { stdin, signal: ending.signal } };
  void readLines(containers.exec(source), settle).then(
    (said) => end(new KeeperFailure(`the keeper of ${anchor} has ended${said === '' ? '' : `: ${said}`}`)),
    (error: unknown) => end(new KeeperFailure(`the keeper of ${anchor} is not reached`, { cause: error })),
  );

  return {
    isOver: () => over !== undefined,
    close: () => end(new KeeperFailure(`the agent lets ${anchor} go`)),
    ask: (question, timeoutMs) =>
      new Promise((resolve, reject) => {
        if (over !== undefined) return reject(over);
        const id = next++;
        const timer = setTimeout(() => end(new KeeperFailure(`the keeper of ${anchor} does not answer`)), timeoutMs);
        const settled =
          <T>(pass: (value: T) => void) =>
          (value: T): void => {
            clearTimeout(timer);
            pass(value);
          };
        waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
        stdin.write(`${JSON.stringify({ id, ...question })}\n`);
      }),
  };
}

/** Until the program ends; what it said on stderr last, for who asks why. */
async function readLines(output: ReturnType<Containers['exec']>, onLine: (line: string) => void): Promise<string> {
  let rest = '';
  let said = '';
  for await (const frame of output) {
    if (frame.stream === 'exit') continue;
    if (frame.stream === 'stderr') {
      said = `${said}${frame.data.toString('utf8')}`.slice(-300);
      continue;
    }
    const lines = (rest + frame.data.toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') onLine(line);
  }
  return said.trim();
}
