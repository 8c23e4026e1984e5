import type { Command } from 'commander';
import { parseCount } from '../../amounts.js';
import { action } from '../../command-context.js';
import { DEPLOYMENT } from '../../deployment-columns.js';
import { servingDeployment } from '../../until-deployment-serves.js';

interface ScaleOptions {
  readonly wait?: boolean;
  readonly timeout?: string;
}

export function registerDeployChange(deploy: Command): void {
  deploy
    .command('scale')
    .summary('how many replicas are wanted; with rules, their next decision starts from it')
    .argument('<name>')
    .argument('<replicas>')
    .option('--wait', 'until they serve')
    .option('--timeout <time>', 'with --wait: give up after 10m …')
    .action(
      action<ScaleOptions>(async (context, { args: [name = '', text = ''], options }) => {
        const replicas = parseCount({ name: 'replicas', text });
        const changed = await (await context.client()).deployments.scale(name, replicas);
        const shown = options.wait === true ? await servingDeployment(context, changed, options.timeout) : changed;
        await context.out.done(shown, DEPLOYMENT, `${replicas} wanted; how they stand: berth deploy get ${name}`);
      }),
    );
  deploy
    .command('rm')
    .summary('off its endpoint, drained, ended')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const ending = await (await client()).deployments.remove(name);
        await out.done(ending, DEPLOYMENT, 'off its endpoint; requests in flight are finished, then its replicas end');
      }),
    );
}
