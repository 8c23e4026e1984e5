import type { Command } from 'commander';
import { parseDurationSeconds } from '../../amounts.js';
import { action } from '../../command-context.js';
import { DEPLOYMENT_TOKEN } from '../../deployment-columns.js';
import { showList } from '../../kinds.js';

export function registerDeployToken(deploy: Command): void {
  const token = deploy.command('token').summary('tokens for its endpoint alone');
  token
    .command('create')
    .summary('make one; its secret on stdout, this once')
    .argument('<deployment>')
    .argument('<name>', 'to tell it from others')
    .option('--expires <time>', '12h, 30d …; until it is taken back when omitted')
    .action(
      action<{ readonly expires?: string }>(
        async ({ client, out }, { args: [deployment = '', name = ''], options }) => {
          const { expires } = options;
          const expiresInSeconds =
            expires === undefined ? null : parseDurationSeconds({ name: '--expires', text: expires });
          const made = await (await client()).deployments.createToken(deployment, { name, expiresInSeconds });
          if (out.isData) return out.data(made);
          out.line(made.token);
          out.say(`token ${name} (${made.id}) of ${deployment}; keep it, it is not shown again`);
        },
      ),
    );
  token
    .command('ls')
    .summary('those that have not ended')
    .argument('<deployment>')
    .action(
      action(async (context, { args: [deployment = ''] }) => {
        await showList(context, (await context.client()).deployments.tokens(deployment), DEPLOYMENT_TOKEN);
      }),
    );
  token
    .command('rm')
    .summary('take one back, within 2 s at each gateway')
    .argument('<deployment>')
    .argument('<id>')
    .action(
      action(async ({ client, out }, { args: [deployment = '', id = ''] }) => {
        await (await client()).deployments.revokeToken(deployment, id);
        out.say(`token ${id} is taken back`);
      }),
    );
}
