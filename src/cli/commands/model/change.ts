import type { Command } from 'commander';
import type { ModelClaim, Pool } from '../../../contract/index.js';
import { type ChangeOptions, changeOf } from '../../claim-fields.js';
import { usageError } from '../../cli-error.js';
import { action } from '../../command-context.js';
import { formatBytes } from '../../format-amounts.js';
import { MODEL } from '../../model-columns.js';
import { settledModel } from '../../until-model-serves.js';
import { withFigures } from './claim.js';

/** What changes a claim that is there. */
export function registerModelChange(model: Command): void {
  registerSet(model);
  model
    .command('sleep')
    .summary('put it to sleep once nothing is in flight; a request wakes it')
    .argument('<name>', 'model name or id')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const berth = await client();
        const asked = await berth.models.sleep(name);
        const pool = await berth.pools.get(asked.pool);
        await out.done(asked, MODEL, `asked to sleep; ${howItSleeps(asked, pool)}`);
      }),
    );
  model
    .command('wake')
    .summary('wake it, as a request at the gateway does')
    .argument('<name>', 'model name or id')
    .option('--wait', 'until it serves')
    .option('--timeout <time>', 'with --wait: give up after 10m …')
    .action(
      action<{ readonly wait?: boolean; readonly timeout?: string }>(
        async (context, { args: [name = ''], options }) => {
          const asked = await (await context.client()).models.wake(name);
          const shown = options.wait === true ? await settledModel(context, asked, options.timeout) : asked;
          const text = shown.phase === 'ACTIVE' ? 'it is awake' : `its wake is asked for: berth model why ${name}`;
          await context.out.done(shown, MODEL, text);
        },
      ),
    );
  model
    .command('rm')
    .summary('end it: off the route, what is in flight is served, then gone')
    .argument('<name>', 'model name or id')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        await out.done(await (await client()).models.remove(name), MODEL, 'ends; what is in flight has 90 s');
      }),
    );
}

function registerSet(model: Command): void {
  const set = model
    .command('set')
    .summary('change its sizes, bounds, priority or sleep; nothing else changes')
    .description('Changes what is named; the rest stays. Anything else asks for a new claim.')
    .argument('<name>', 'model name or id');
  withFigures(set)
    .option('--may-sleep', 'takes --never-sleep away')
    .action(
      action<ChangeOptions>(async ({ client, out }, { args: [name = ''], options }) => {
        const change = changeOf(options);
        if (Object.keys(change).length === 0)
          throw usageError('nothing to set', `berth model set ${name} --kv-floor 10Gi`);
        const changed = await (await client()).models.change(name, change);
        await out.done(changed, MODEL, `set; all of it: berth model get ${name}`);
      }),
    );
}

/** A sleeper's weights stay in the host memory of its member: one that they may never fit is not put to sleep. */
function howItSleeps(
  { maximumFootprintBytes, gpusPerInstance, modelName }: ModelClaim,
  { name, member: { memoryBytes } }: Pool,
): string {
  const weightsBytes = maximumFootprintBytes * gpusPerInstance;
  if (weightsBytes <= memoryBytes) return 'a request wakes it';
  const sizes = `its weights may take ${formatBytes(weightsBytes)} of host memory, and a member of ${name} has ${formatBytes(memoryBytes)}`;
  return `but ${modelName} cannot sleep here: ${sizes} (berth pool create --mem)`;
}
