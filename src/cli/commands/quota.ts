import type { Command } from 'commander';
import type { QuotaLimits } from '../../contract/index.js';
import { parseBytes, parseCount, parseCpu } from '../amounts.js';
import { usageError } from '../cli-error.js';
import { QUOTA } from '../columns.js';
import { action } from '../command-context.js';
import { parseQuotaName, showList } from '../kinds.js';

const NAME_HELP = 'user/NAME, project/DOMAIN/NAME or domain/NAME';

interface SetOptions {
  readonly gpus?: string;
  readonly cpu?: string;
  readonly mem?: string;
  readonly sessions?: string;
  readonly pending?: string;
  readonly folders?: string;
  readonly folderBytes?: string;
}

export function registerQuota(program: Command): void {
  const quota = program.command('quota').summary('limits, and what is held').description('Limits, and what is held.');
  quota
    .command('ls')
    .summary('quotas that bind you')
    .action(action(async (context) => showList(context, (await context.client()).quotas.list(), QUOTA)));
  quota
    .command('get')
    .alias('show')
    .summary('one quota')
    .argument('<quota>', NAME_HELP)
    .action(
      action(async ({ client, out }, { args: [name = ''] }) =>
        out.one(await (await client()).quotas.get(parseQuotaName(name)), QUOTA),
      ),
    );
  quota
    .command('set')
    .summary('change limits; those not named stay')
    .description('Changes limits; those not named stay, "none" lifts one.')
    .argument('<quota>', NAME_HELP)
    .option('--gpus <n>', 'whole GPUs')
    .option('--cpu <cores>', '16, 500m')
    .option('--mem <bytes>', '64Gi')
    .option('--sessions <n>', 'sessions at once, from placement to release')
    .option('--pending <n>', 'sessions that wait')
    .option('--folders <n>', 'folders, those in the trash too')
    .option('--folder-bytes <bytes>', 'bytes in folders: 500Gi')
    .action(
      action<SetOptions>(async ({ client, out }, { args: [text = ''], options }) => {
        const name = parseQuotaName(text);
        const berth = await client();
        const { limits, etag } = await berth.quotas.get(name);
        const changed = await berth.quotas.put(name, changedLimits(limits, options), { ifMatch: etag });
        await out.done(changed, QUOTA, 'limits set');
      }),
    );
}

/** Option, its limit, and how it is read. */
const LIMITS = [
  ['gpus', 'gpuCount', parseCount],
  ['cpu', 'cpuMilli', parseCpu],
  ['mem', 'memoryBytes', parseBytes],
  ['sessions', 'sessions', parseCount],
  ['pending', 'pendingSessions', parseCount],
  ['folders', 'folders', parseCount],
  ['folderBytes', 'folderBytes', parseBytes],
] as const;

export function changedLimits(limits: QuotaLimits, options: SetOptions): QuotaLimits {
  const named = LIMITS.filter(([option]) => options[option] !== undefined);
  if (named.length === 0) throw usageError('nothing to set', 'berth quota set project/main/vision --gpus 2');
  const changes = named.map(([option, slot, parse]) => {
    const text = options[option] ?? '';
    return [slot, text === 'none' ? undefined : parse({ name: `--${option}`, text })] as const;
  });
  const all = Object.entries({ ...limits, ...Object.fromEntries(changes) });
  return Object.fromEntries(all.filter(([, limit]) => limit !== undefined));
}
