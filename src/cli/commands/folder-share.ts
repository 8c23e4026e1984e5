import type { Command } from 'commander';
import { FOLDER_PERMISSIONS, type FolderPermission } from '../../contract/index.js';
import { usageError } from '../cli-error.js';
import { FOLDER } from '../columns.js';
import { action } from '../command-context.js';
import { INVITATION } from '../folder-columns.js';

export function parsePermissions(text: string): FolderPermission[] {
  return text.split(',').map((name) => {
    const permission = FOLDER_PERMISSIONS.find((one) => one === name.trim());
    if (permission === undefined) throw usageError(`"${name}" is no permission: ${FOLDER_PERMISSIONS.join(', ')}`);
    return permission;
  });
}

interface ShareFlags {
  readonly allow: string;
  readonly members?: string;
  readonly revoke?: boolean;
}

export function registerFolderShare(folder: Command): void {
  folder
    .command('share')
    .summary('invite a user, or say what members of its project may do')
    .argument('<folder>')
    .argument('[user]', 'who; without one, who is invited is shown')
    .option('--allow <permissions>', 'read, write, delete, with commas', 'read')
    .option('--members <permissions>', 'of its project; none')
    .option('--revoke', 'take the invitation back, accepted or not')
    .action(
      action<ShareFlags>(async ({ client, out }, { args: [name = '', user], options }) => {
        const { folders } = await client();
        if (options.members !== undefined) {
          const memberPermissions = options.members === 'none' ? [] : parsePermissions(options.members);
          return out.done(await folders.patch(name, { memberPermissions }), FOLDER, 'changed for its members');
        }
        if (user === undefined) return out.list({ items: await folders.invitationsOf(name) }, INVITATION);
        if (options.revoke === true) {
          await folders.revoke(name, user);
          return out.say(`${user} is not invited to ${name} any more`);
        }
        const made = await folders.invite(name, { user, permissions: parsePermissions(options.allow) });
        await out.done(made, INVITATION, `${user} accepts with: berth folder accept ${made.id}`);
      }),
    );
}

/** The other side of it: what is offered, and what is said to it. */
export function registerFolderAnswers(folder: Command): void {
  folder
    .command('invitations')
    .summary('invitations that wait for your answer')
    .action(
      action(async ({ client, out }) => out.list({ items: await (await client()).folders.invitations() }, INVITATION)),
    );
  folder
    .command('accept')
    .summary('accept an invitation')
    .argument('<invitation>')
    .action(
      action(async ({ client, out }, { args: [id = ''] }) => {
        const accepted = await (await client()).folders.accept(id);
        await out.done(accepted, FOLDER, `mount it: berth run -v ${accepted.id}:/data IMAGE -- COMMAND`);
      }),
    );
  folder
    .command('decline')
    .summary('decline an invitation, or leave a folder')
    .argument('<invitation>')
    .action(
      action(async ({ client, out }, { args: [id = ''] }) => {
        await (await client()).folders.decline(id);
        out.say('declined');
      }),
    );
  folder
    .command('transfer')
    .summary('give a folder to a user, who has to accept, or to a project')
    .argument('<folder>')
    .argument('<owner>', 'user/NAME or project/NAME')
    .action(
      action(async ({ client, out }, { args: [name = '', owner = ''] }) => {
        const [, kind, to = ''] = /^(user|project)\/(.+)$/.exec(owner) ?? [];
        if (kind === undefined) throw usageError(`"${owner}" is no owner: write user/NAME or project/NAME`);
        const given = await (await client()).folders.give(name, kind === 'user' ? { user: to } : { project: to });
        const isOffered = kind === 'user' && given.owner !== to;
        await out.done(given, FOLDER, isOffered ? `offered to ${to}, who has to accept` : `it is ${owner}'s now`);
      }),
    );
}
