import type { Command } from 'commander';
import type { Deployment } from '../../../contract/index.js';
import type { Client } from '../../../sdk/index.js';
import { parseCount } from '../../amounts.js';
import { action } from '../../command-context.js';
import { DEPLOYMENT } from '../../deployment-columns.js';
import { rolloutText } from '../../deployment-text.js';

type Change = (deployments: Client['deployments'], name: string) => Promise<Deployment>;
const CHANGES: readonly (readonly [verb: string, summary: string, change: Change, done: string])[] = [
  ['pause', 'hold it as it stands; dead replicas are still replaced', (all, name) => all.pause(name), 'paused'],
  ['resume', 'go on with a paused one', (all, name) => all.resume(name), 'it goes on'],
  ['promote', 'end the wait of a blue-green or canary step', (all, name) => all.promote(name), 'promoted'],
];

export function registerDeployRollout(deploy: Command): void {
  const rollout = deploy.command('rollout').summary('from one revision to another');
  rollout
    .command('status')
    .summary('how it stands')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const found = await (await client()).deployments.get(name);
        if (out.isData) return out.data(found.rollout ?? { rollout: null, currentRevision: found.currentRevision });
        const at = found.currentRevision === null ? 'no revision was good yet' : `revision ${found.currentRevision}`;
        out.line(found.rollout === null ? `no rollout is under way: ${at}` : rolloutText(found.rollout, new Date()));
      }),
    );
  rollout
    .command('undo')
    .summary('back to the last good revision, or to a named one, as a rollout')
    .argument('<name>')
    .option('--to <revision>', 'as berth deploy revisions tells them')
    .action(
      action<{ readonly to?: string }>(async ({ client, out }, { args: [name = ''], options: { to } }) => {
        const revision = to === undefined ? undefined : parseCount({ name: '--to', text: to }, 1);
        const changed = await (await client()).deployments.undo(name, revision);
        await out.done(changed, DEPLOYMENT, `it goes back; how far: berth deploy rollout status ${name}`);
      }),
    );
  for (const [verb, summary, change, done] of CHANGES) {
    rollout
      .command(verb)
      .summary(summary)
      .argument('<name>')
      .action(
        action(async ({ client, out }, { args: [name = ''] }) => {
          const changed = await change((await client()).deployments, name);
          await out.done(changed, DEPLOYMENT, `${done}; how it stands: berth deploy rollout status ${name}`);
        }),
      );
  }
}
