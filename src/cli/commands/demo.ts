import type { Command } from 'commander';
import { parseCount, parseDurationSeconds } from '../amounts.js';
import { action, type CommandContext, interruptSignal } from '../command-context.js';
import type { DemoOptions } from '../demo/demo-options.js';

interface Flags {
  readonly record?: string;
  readonly image: string;
  readonly group: string;
  readonly window?: string;
  readonly idleSeconds?: string;
  readonly gateway?: string;
}
type AllOptions = DemoOptions & {
  readonly windowSeconds: number;
  readonly idleSeconds: number;
  readonly gatewayUrl: string | undefined;
};
type RunDemo = (options: AllOptions) => Promise<void>;

const DEMOS: readonly (readonly [name: string, summary: string, load: () => Promise<RunDemo>])[] = [
  [
    'queue',
    'experiment 1: who waits for what in a queue, and who follows when',
    async () => (await import('../demo/demo-queue.js')).demoQueue,
  ],
  [
    'bob',
    'the walk-through of Bob and Alice: quota, capacity, and a start that fails',
    async () => (await import('../demo/demo-bob.js')).demoBob,
  ],
  [
    'placement',
    'experiment 2: where sessions go under each policy, and whom that strands',
    async () => (await import('../demo/demo-placement.js')).demoPlacement,
  ],
  [
    'backfill',
    'experiment 1 with backfill: Bob runs ahead of Alice only when the runtimes let him',
    async () => (await import('../demo/demo-backfill.js')).demoBackfill,
  ],
  [
    'idle',
    'experiment 3: an idle notebook is reclaimed, and its folder stays as it was',
    async () => (await import('../demo/demo-idle.js')).demoIdle,
  ],
  [
    'budgets',
    'GPU time budgets: shares converge, free work yields, a drain keeps its word',
    async () => (await import('../demo/demo-budgets.js')).demoBudgets,
  ],
  [
    'models',
    'model claims: four models on one GPU are lowered, slept, woken and make room, as the gateway answers',
    async () => (await import('../demo/demo-models.js')).demoModels,
  ],
  [
    'serve',
    "Bob's model service: deployed from a notebook's files, rolled out under load, scaled, healed",
    async () => (await import('../demo/demo-serve.js')).demoServe,
  ],
  [
    'share',
    'reserved GPUs: what is kept for deployments is lent to training, and comes back within the stated time',
    async () => (await import('../demo/demo-share.js')).demoShare,
  ],
];

const SHELL = ['an image with sleep and a shell', 'berth/busybox:test'] as const;
/** Of demonstrations with engines behind the gateway. */
const WITH_ENGINES: ReadonlySet<string> = new Set(['models', 'serve']);
const ENGINES = ['of the engines; made by node infra/images/simulated-engine.mjs', 'berth/simulated-engine:1'] as const;

export function registerDemo(program: Command): void {
  const demo = program
    .command('demo')
    .summary('live experiments that check themselves')
    .description('Live experiments on this Berth; each ends non-zero when anything differs from what it expects.');
  for (const [name, summary, load] of DEMOS) {
    const command = demo
      .command(name)
      .summary(summary)
      .description(
        `${summary[0]?.toUpperCase()}${summary.slice(1)}. Needs an operator's key, and a group where nothing runs.`,
      )
      .option('--record <file>', 'write what was seen, as JSON')
      .option('--image <image>', ...(WITH_ENGINES.has(name) ? ENGINES : SHELL))
      .option('--group <group>', 'resource group', 'default')
      .action(action<Flags>(async (context, { options }) => (await load())(await demoOptions(context, options))));
    if (name === 'idle') command.option('--window <time>', 'how long it has to be idle', '60s');
    if (name === 'models') {
      command.option('--idle-seconds <n>', 'a neighbour that is idle for so long may sleep for another', '20');
    }
    if (WITH_ENGINES.has(name)) command.option('--gateway <url>', "the gateway; this machine's own when omitted");
  }
}

async function demoOptions(
  context: CommandContext,
  { record, image, group, window = '60s', idleSeconds = '20', gateway }: Flags,
): Promise<AllOptions> {
  return {
    admin: await context.client(),
    clientOf: (token) => context.client({ token }),
    image,
    group,
    recordFile: record,
    say: (text) => context.out.line(text),
    signal: interruptSignal(),
    windowSeconds: Math.ceil(parseDurationSeconds({ name: '--window', text: window })),
    idleSeconds: parseCount({ name: '--idle-seconds', text: idleSeconds }, 1),
    gatewayUrl: gateway,
  };
}
