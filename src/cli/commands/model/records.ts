import type { Command } from 'commander';
import type { ModelSuggestion } from '../../../contract/index.js';
import { parseDurationMilliseconds } from '../../amounts.js';
import { action } from '../../command-context.js';
import { exactOr } from '../../exact-bytes.js';
import { showList } from '../../kinds.js';
import { MODEL_EVENT, MODEL_USAGE } from '../../model-columns.js';

/** What happened to models, what they took, and what was used of them. */
export function registerModelRecords(model: Command): void {
  model
    .command('history')
    .summary('everything that happened to it, oldest first')
    .argument('<name>', 'model name or id')
    .action(
      action(async (context, { args: [name = ''] }) =>
        showList(context, (await context.client()).models.history(name, { limit: 500 }), MODEL_EVENT),
      ),
    );
  model
    .command('suggest')
    .summary('its footprint and KV floor, from what was measured')
    .argument('<name>', 'model name or id')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const suggestion = await (await client()).models.suggest(name);
        if (out.isData) return out.data(suggestion);
        out.line(suggestionText(suggestion));
      }),
    );
  model
    .command('usage')
    .summary('requests and tokens, by hour, key and project')
    .argument('[name]', 'only of this model')
    .option('--since <time>', 'only of the last 24h, 7d …')
    .action(
      action<{ readonly since?: string }>(async (context, { args: [name], options: { since } }) => {
        const sinceMs = since === undefined ? null : parseDurationMilliseconds({ name: '--since', text: since });
        const query = {
          ...(name === undefined ? {} : { model: name }),
          ...(sinceMs === null ? {} : { since: new Date(Date.now() - sinceMs).toISOString() }),
        };
        await showList(context, (await context.client()).models.usage(query), MODEL_USAGE);
      }),
    );
}

export function suggestionText({
  model,
  maximumFootprintBytes,
  kvFloorBytes,
  measured,
  message,
}: ModelSuggestion): string {
  const { footprintBytes, kvUsedBytes, residueBytes, looks } = measured;
  const flags = [
    ...(maximumFootprintBytes === null ? [] : [`--footprint ${exactOr(maximumFootprintBytes)}`]),
    ...(kvFloorBytes === null ? [] : [`--kv-floor ${exactOr(kvFloorBytes)}`]),
  ];
  return [
    `${model}: ${message}`,
    `  seen at most, in ${looks} looks: ${exactOr(footprintBytes)} beside its KV cache, ${exactOr(kvUsedBytes)} of KV cache, ${exactOr(residueBytes)} asleep`,
    ...(flags.length === 0 ? [] : [`  try: berth model set ${model} ${flags.join(' ')}`]),
  ].join('\n');
}
