import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { PoolGpuView } from '../../contract/index.js';
import { action, type CommandContext, interruptSignal } from '../command-context.js';
import { exactBytes, exactOr } from '../exact-bytes.js';
import { type BarStyle, gpuBarsText, legend, PLAIN } from '../gpu-bars-text.js';
import type { Shown } from '../output.js';
import { pause } from '../pause.js';

const WATCH_MILLISECONDS = 1000;
const WIDTH_MAX = 100;
/** Of what stands beside a bar. */
const MARGIN = 6;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

const GPU: Shown<PoolGpuView> = {
  none: 'no GPU yet: how the members stand, berth pool ls',
  nameOf: ({ name }) => name,
  idOf: ({ name }) => name,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'POOL', of: ({ pool }) => pool },
    { head: 'DEVICE', of: ({ device }) => device },
    { head: 'USABLE', of: ({ usableBytes }) => exactOr(usableBytes) },
    { head: 'PROMISED', of: ({ promisedBytes }) => exactBytes(promisedBytes) },
    { head: 'HELD', of: ({ heldBytes }) => exactBytes(heldBytes) },
    { head: 'ROOM', of: ({ maximumRoomBytes }) => exactBytes(maximumRoomBytes) },
    { head: 'ROOM-NOW', of: ({ roomNowBytes }) => exactBytes(roomNowBytes) },
    { head: 'MODELS', of: ({ tenants }) => tenants.map(({ model }) => model).join(',') || '-' },
    { head: 'HOLES', of: ({ holes }) => holes.join('; ') },
  ],
};

interface GpuOptions {
  readonly watch?: boolean;
}

export function registerGpu(program: Command): void {
  program
    .command('gpu')
    .summary('the memory of each GPU of a pool: who has what, and what is free')
    .description(
      'The account of each GPU of a pool, as a bar with its numbers: footprints, KV floors, lent KV, sleepers, held room.',
    )
    .argument('[pool]', 'all that you may use when omitted')
    .option('-w, --watch', 'again each second')
    .action(
      action<GpuOptions>(async (context, { args: [pool], options }) => {
        if (options.watch !== true) return show(context, await readGpus(context, pool));
        await watch(context, pool);
      }),
    );
}

async function readGpus(
  { client }: CommandContext,
  pool?: string,
  signal?: AbortSignal,
): Promise<readonly PoolGpuView[]> {
  const { pools } = await client();
  if (pool !== undefined) return pools.gpus(pool, { signal });
  const all: PoolGpuView[] = [];
  for await (const { name } of pools.list({}, { signal })) all.push(...(await pools.gpus(name, { signal })));
  return all;
}

async function show({ out }: CommandContext, items: readonly PoolGpuView[], isStream = false): Promise<void> {
  if (out.isData) return out.data(isStream ? items : { items }, isStream);
  if (out.isQuiet || out.format !== 'table' || items.length === 0) return out.list({ items }, GPU);
  const style = styleOf(process.stdout);
  out.line(gpuBarsText(items, style));
  out.say(legend(style));
}

/** Colours only on a terminal that takes them (NO_COLOR says no); a bar as wide as the terminal. */
function styleOf({ isTTY, columns }: NodeJS.WriteStream): BarStyle {
  if (!isTTY) return PLAIN;
  const width = Math.max(20, Math.min(WIDTH_MAX, columns - MARGIN));
  return { width, paint: (colour, text) => styleText(colour, text, { stream: process.stdout }) };
}

/** The screen anew on a terminal, else one block (for programs one line) a look. Ends at Ctrl-C. */
async function watch(context: CommandContext, pool: string | undefined): Promise<void> {
  const { out } = context;
  const signal = interruptSignal();
  for (;;) {
    const items = await readGpus(context, pool, signal);
    const clears = process.stdout.isTTY && !out.isData;
    if (clears) out.write(CLEAR_SCREEN);
    if (!out.isData) out.say(new Date().toISOString());
    await show(context, items, true);
    await pause(WATCH_MILLISECONDS, signal);
  }
}
