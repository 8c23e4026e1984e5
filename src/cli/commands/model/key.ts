import type { Command } from 'commander';
import type { ModelKeyLimits } from '../../../contract/index.js';
import { parseCount } from '../../amounts.js';
import { usageError } from '../../cli-error.js';
import { action } from '../../command-context.js';
import { MODEL_KEY } from '../../model-columns.js';

interface LimitOptions {
  readonly models?: string;
  readonly requests?: string;
  readonly tokens?: string;
}

/** What is not named stays. */
export function limitsOf(present: ModelKeyLimits, { models, requests, tokens }: LimitOptions) {
  const rate = (name: string, text: string | undefined, now: number | null): number | null =>
    text === undefined ? now : text === 'none' ? null : parseCount({ name, text }, 1);
  return {
    models: models === undefined ? present.models : models === 'all' ? null : models.split(',').filter(Boolean),
    requestsPerMinute: rate('--requests', requests, present.requestsPerMinute),
    tokensPerMinute: rate('--tokens', tokens, present.tokensPerMinute),
  };
}

export function registerModelKey(model: Command): void {
  const key = model
    .command('key')
    .summary('which models a key may use, and how fast')
    .description(
      'Limits of an API key at the gateway. Keys: berth key ls; one for an application: berth key create app --scope read.',
    );
  key
    .command('show')
    .summary('the limits of a key')
    .argument('<key>', 'id of the key')
    .action(
      action(async ({ client, out }, { args: [id = ''] }) =>
        out.one(await (await client()).models.keyLimits(id), MODEL_KEY),
      ),
    );
  key
    .command('set')
    .summary('change them; those not named stay')
    .argument('<key>', 'id of the key')
    .option('--models <names>', 'only these, with commas; all')
    .option('--requests <n>', 'a minute; none')
    .option('--tokens <n>', 'a minute, of both ways; none')
    .action(
      action<LimitOptions>(async ({ client, out }, { args: [id = ''], options }) => {
        const { models, requests, tokens } = options;
        if ([models, requests, tokens].every((one) => one === undefined)) {
          throw usageError('nothing to set', `berth model key set ${id} --models qwen --requests 60`);
        }
        const berth = await client();
        const limits = limitsOf(await berth.models.keyLimits(id), options);
        await out.done(await berth.models.putKeyLimits(id, limits), MODEL_KEY, 'limits set');
      }),
    );
}
