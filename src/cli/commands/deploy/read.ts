import type { Command } from 'commander';
import { action } from '../../command-context.js';
import { DECISION, DEPLOYMENT, DEPLOYMENT_EVENT, REVISION } from '../../deployment-columns.js';
import { deploymentText, deploymentWhyText } from '../../deployment-text.js';
import { showList } from '../../kinds.js';

export function registerDeployRead(deploy: Command): void {
  deploy
    .command('ls')
    .summary('deployments of your projects')
    .option('-a, --all', 'those that have ended, too')
    .action(
      action<{ readonly all?: boolean }>(async (context, { options: { all } }) => {
        await showList(context, (await context.client()).deployments.list({ ended: all === true }), DEPLOYMENT);
      }),
    );
  deploy
    .command('get')
    .alias('show')
    .summary('one of them: how it stands, where it answers, each replica')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const found = await (await client()).deployments.get(name);
        if (out.format !== 'table' || out.isQuiet) return out.one(found, DEPLOYMENT);
        out.line(deploymentText(found, new Date()));
      }),
    );
  deploy
    .command('why')
    .summary('why it does not serve as wanted, replica by replica, and what to do')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const why = await (await client()).deployments.why(name);
        if (out.isData) return out.data(why);
        out.line(deploymentWhyText(why, new Date()));
      }),
    );
  registerRecords(deploy);
}

function registerRecords(deploy: Command): void {
  deploy
    .command('events')
    .summary('what happened to it, oldest first')
    .argument('<name>')
    .action(
      action(async (context, { args: [name = ''] }) => {
        await showList(context, (await context.client()).deployments.events(name), DEPLOYMENT_EVENT);
      }),
    );
  deploy
    .command('decisions')
    .summary('what its rules decided, with their numbers, the newest first')
    .argument('<name>')
    .action(
      action(async (context, { args: [name = ''] }) => {
        await showList(context, (await context.client()).deployments.decisions(name), DECISION);
      }),
    );
  deploy
    .command('revisions')
    .summary('its revisions, the newest first')
    .argument('<name>')
    .action(
      action(async (context, { args: [name = ''] }) => {
        await showList(context, (await context.client()).deployments.revisions(name), REVISION);
      }),
    );
}
