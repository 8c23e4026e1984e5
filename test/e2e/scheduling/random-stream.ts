import { BUSYBOX_IMAGE } from '../../../infra/setup/image.mjs';
import type { CreateSessionInput, EndCause } from '../../../src/contract/index.js';
import { randomOf } from '../../chaos/support/choose.js';
import { WHOLE_GPUS } from './two-nodes.js';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** A submission of the stream; its fields of time count from its own moment. */
export interface Submission {
  readonly spec: CreateSessionInput;
  readonly pauseMs: number;
  /** What follows is not submitted before it runs. */
  readonly isWaitedFor: boolean;
  readonly startsInMs: number | undefined;
  /** Its end, however often it was stopped for others. */
  readonly cause: EndCause;
}

/** Runs for so long and exits; told to end, it exits with 99, so that a preempted one is not taken for done. */
export const runsFor = (seconds: number, exitCode = 0): string[] => [
  'sh',
  '-c',
  `trap "exit 99" TERM; sleep ${seconds} & wait $!; exit ${exitCode}`,
];

type Kind = (random: () => number) => Pick<CreateSessionInput, 'kernels' | 'clusterMode'>;

const small = { cpuMilli: 100, memoryBytes: 32 * MIB };
const upTo = (random: () => number, most: number): number => 1 + Math.floor(random() * most);
const share = (random: () => number): number => 2 * upTo(random, 6) * GIB;

/** Kinds of requests by weight: a kind stands as often as it should come. */
const KINDS: readonly Kind[] = [
  ...Array<Kind>(3).fill((random) => ({ kernels: [{ slots: { ...small, gpuCount: upTo(random, WHOLE_GPUS) } }] })),
  ...Array<Kind>(3).fill((random) => ({ kernels: [{ slots: { ...small, gpuMemoryBytes: share(random) } }] })),
  // more than half a node each: it has to lie over both
  (random) => ({
    clusterMode: 'multi-node',
    kernels: [
      { slots: { ...small, gpuCount: 2 } },
      { role: 'worker', slots: { ...small, gpuCount: upTo(random, 2) + 1 } },
    ],
  }),
  (random) => ({
    kernels: [
      { slots: { ...small, gpuMemoryBytes: share(random) } },
      { role: 'worker', count: 2, slots: { ...small, gpuMemoryBytes: share(random) } },
    ],
  }),
  (random) => ({ kernels: [{ slots: { cpuMilli: 1000 * upTo(random, 3), memoryBytes: GIB } }] }),
];

const choose = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

/** Has all devices of a node that are given out whole: long at first, to be stopped for others, and short from then on. */
const filler = (name: string): Submission => ({
  spec: {
    name,
    image: BUSYBOX_IMAGE,
    command: ['sh', '-c', 'trap "exit 99" TERM; [ $BERTH_ATTEMPT = 1 ] && t=15 || t=1; sleep $t & wait $!'],
    kernels: [{ slots: { ...small, gpuCount: WHOLE_GPUS } }],
    priority: 1,
    gracePeriodSeconds: 2,
    maxRuntimeSeconds: 60,
  },
  pauseMs: 0,
  isWaitedFor: true,
  startsInMs: undefined,
  cause: 'completed',
});

/** The same for the same seed; it begins with two that have every whole device, at the lowest priority. Names are `s00`, `s01` …; what depends on another names one before it. */
export function randomStream(seed: number, length: number): readonly Submission[] {
  const random = randomOf(seed);
  const made: Submission[] = [filler('s00'), filler('s01')];
  while (made.length < length) made.push(submission(random, made));
  return made;
}

function submission(random: () => number, earlier: readonly Submission[]): Submission {
  const seconds = 0.5 + Math.round(random() * 20) / 10;
  const fails = random() < 0.1;
  const upstream = earlier.length > 2 && random() < 0.2 ? choose(random, earlier.slice(-6)) : undefined;
  const onFailure = choose(random, ['cancel', 'ignore'] as const);
  const isCancelled = upstream !== undefined && upstream.cause !== 'completed' && onFailure === 'cancel';
  const spec: CreateSessionInput = {
    ...choose(random, KINDS)(random),
    name: `s${String(earlier.length).padStart(2, '0')}`,
    image: BUSYBOX_IMAGE,
    command: runsFor(seconds, fails ? 3 : 0),
    priority: choose(random, [5, 10, 10, 20, 50]),
    minRuntimeSeconds: choose(random, [0, 0, 1]),
    gracePeriodSeconds: 2,
    ...(random() < 0.8 && { maxRuntimeSeconds: seconds + 20 }),
    ...(upstream !== undefined && { dependsOn: [{ session: upstream.spec.name ?? '', onFailure }] }),
  };
  return {
    spec,
    pauseMs: Math.floor(random() * 250),
    isWaitedFor: false,
    startsInMs: random() < 0.15 ? 2_000 + Math.floor(random() * 3_000) : undefined,
    cause: isCancelled ? 'dependency-failed' : fails ? 'user-failure' : 'completed',
  };
}
