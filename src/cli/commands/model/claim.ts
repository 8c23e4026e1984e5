import type { Command } from 'commander';
import { collect } from '../../budget-fields.js';
import { type ClaimOptions, claimSpec } from '../../claim-fields.js';
import { action } from '../../command-context.js';
import { MODEL } from '../../model-columns.js';
import { readYamlFile } from '../../read-yaml-file.js';
import { settledModel } from '../../until-model-serves.js';

interface ClaimCommandOptions extends ClaimOptions {
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly dryRun?: boolean;
}

const AFTER = `
A file holds the request as the API takes it: modelName, pool, artifactUrl, perGpu: {maximumFootprint, kvFloor}, args …; options
win over it. Sizes: berth model suggest tells what was measured of a model that served.

Examples:
  berth model claim qwen --pool chat --artifact huggingface://Qwen/Qwen3-8B --footprint 30Gi --kv-floor 10Gi --wait
  berth model claim big --pool chat --artifact folder://big --tensor 2 --footprint 60Gi --kv-floor 20Gi -- --max-model-len 8192
  berth model claim -f claim.yaml --dry-run`;

/** What may be changed later, too. */
export const withFigures = (command: Command): Command =>
  command
    .option('--footprint <bytes>', 'the most that an engine takes of a GPU beside its KV cache: 30Gi')
    .option('--kv-floor <bytes>', 'the least KV cache that it needs to serve: 10Gi')
    .option('--kv-min <bytes>', 'a floor above it; none')
    .option('--kv-max <bytes>', 'at most so much KV cache; none')
    .option('--priority <n>', 'multiplies its part of the spare KV cache by 1 + n')
    .option('--sleep-after <time>', 'idle for so long, it sleeps: 10m; none: as the pool says')
    .option('--never-sleep', 'it is never put to sleep')
    .option('--min-awake <time>', 'awake for so long before it may sleep for another; none: as the pool says');

export function registerModelClaim(model: Command): void {
  const claim = model
    .command('claim')
    .summary('claim a model: placed, started and served by name')
    .argument('[name]', 'as clients call it; of the file when omitted')
    .argument('[args...]', "after --: the engine's own arguments")
    .option('-f, --file <file>', 'YAML or JSON; - for stdin')
    .option('--pool <pool>', 'where it runs')
    .option('--artifact <url>', 'huggingface://ORG/MODEL, https://…, s3://…, folder://NAME')
    .option('--sha256 <hex>', 'of an https:// file')
    .option('--project <project>', 'NAME or DOMAIN/NAME; your only one when omitted')
    .option('--engine <engine>', "the pool's when omitted")
    .option('--arg <arg>', "one argument of the engine's own; again for more", collect)
    .option('--tensor <n>', 'GPUs that share each layer')
    .option('--pipeline <n>', 'GPUs that layers are spread over')
    .option('--replicas <n>', 'engines, each on GPUs of its own')
    .option('--pinned', 'never slept')
    .option(
      '--hold <time:requests>',
      'the gateway holds requests while it wakes: 30s:100; else it answers 503 at once',
    );
  withFigures(claim)
    .option('--wait', 'until it serves')
    .option('--timeout <time>', 'with --wait: give up after 10m …')
    .option('--dry-run', 'say whether it would be taken; changes nothing')
    .addHelpText('after', AFTER)
    .action(
      action<ClaimCommandOptions>(async (context, { args: [name, ...args], options }) => {
        const { client, out, project } = context;
        const file = options.file === undefined ? {} : await readYamlFile(options.file);
        const spec = claimSpec({ name, args, options, file, project: project.project });
        const { models } = await client();
        if (options.dryRun === true) {
          const answer = await models.dryRun(spec);
          return out.isData ? out.data(answer) : out.say(answer.message);
        }
        const made = await models.claim(spec);
        const shown = options.wait === true ? await settledModel(context, made, options.timeout) : made;
        const next = shown.phase === 'ACTIVE' ? 'it serves' : `how it stands: berth model why ${shown.modelName}`;
        await out.done(shown, MODEL, next);
      }),
    );
}
