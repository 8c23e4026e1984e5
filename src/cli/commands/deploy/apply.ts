import type { Command } from 'commander';
import type { Deployment } from '../../../contract/index.js';
import type { Client } from '../../../sdk/index.js';
import { ProblemError } from '../../../sdk/index.js';
import { action } from '../../command-context.js';
import { DEPLOYMENT } from '../../deployment-columns.js';
import { deploymentOfFile } from '../../deployment-file.js';
import { changesText } from '../../deployment-text.js';
import { readYamlFile } from '../../read-yaml-file.js';
import { servingDeployment } from '../../until-deployment-serves.js';

interface ApplyOptions {
  readonly file: string;
  readonly dryRun?: boolean;
  readonly wait?: boolean;
  readonly timeout?: string;
}

const AFTER = `
A file holds "name", then the request as the API takes it: template: {image, slots: {cpu, memory, gpus}, port or preset, model, …},
replicas, strategy, autoscale, modelName, access. Examples stand in docs/examples/deployments.`;

/** Null: there is none that the caller may see. */
async function known(deployments: Client['deployments'], name: string): Promise<Deployment | null> {
  try {
    return await deployments.get(name);
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) return null;
    throw error;
  }
}

export function registerDeployApply(deploy: Command): void {
  deploy
    .command('apply')
    .summary('make it, or change what differs; another template is rolled out')
    .argument('[name]', 'of the file when omitted')
    .requiredOption('-f, --file <file>', 'YAML or JSON; - for stdin')
    .option('--dry-run', 'tell what would change; changes nothing')
    .option('--wait', 'tell what happens until all that are wanted serve')
    .option('--timeout <time>', 'with --wait: give up after 10m …')
    .addHelpText('after', AFTER)
    .action(
      action<ApplyOptions>(async (context, { args: [named], options }) => {
        const { client, out, project } = context;
        const { name, wish } = deploymentOfFile(await readYamlFile(options.file), named, project.project);
        const { deployments } = await client();
        if (options.dryRun === true) {
          const then = await deployments.dryRun(name, wish);
          return out.isData ? out.data(then) : out.say(changesText(await known(deployments, name), then));
        }
        const applied = await deployments.apply(name, wish);
        const shown = options.wait === true ? await servingDeployment(context, applied, options.timeout) : applied;
        const next = shown.state === 'READY' ? `it serves at ${shown.url}` : `how it stands: berth deploy why ${name}`;
        await out.done(shown, DEPLOYMENT, next);
      }),
    );
}
