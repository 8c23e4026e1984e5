import { type Command, Option } from 'commander';
import { FOLDER } from '../columns.js';
import { action } from '../command-context.js';
import { describeText } from '../describe-text.js';
import { FOLDER_OWNER, VOLUME } from '../folder-columns.js';
import { formatBytes } from '../format-amounts.js';
import { showList } from '../kinds.js';
import { registerFolderChanges, registerFolderFiles } from './folder-files.js';
import { parseFolderPath } from './folder-path.js';
import { parsePermissions, registerFolderAnswers, registerFolderShare } from './folder-share.js';

export { parseFolderPath } from './folder-path.js';

interface CreateOptions {
  readonly project?: string;
  readonly volume?: string;
  readonly usage: 'general' | 'model' | 'data';
  readonly ownedBy: 'user' | 'project';
  readonly members?: string;
}
interface CloneOptions {
  readonly project?: string;
  readonly ownedBy: 'user' | 'project';
}

const OWNED_BY = () => new Option('--owned-by <owner>', 'whose it is').choices(['user', 'project']).default('user');

export function registerFolder(program: Command): void {
  const folder = program
    .command('folder')
    .summary('folders: files that outlive sessions')
    .description('Folders: files that outlive sessions. Bytes go through the storage proxy, checked by SHA-256.');
  registerFolders(folder);
  registerLife(folder);
  registerFolderFiles(folder);
  registerFolderChanges(folder);
  registerFolderShare(folder);
  registerFolderAnswers(folder);
  registerUsage(folder);
}

function registerFolders(folder: Command): void {
  folder
    .command('ls')
    .summary('folders you may see')
    .option('--trash', 'those in the trash')
    .addHelpText('after', '\nFiles of a folder: berth folder files FOLDER[:PATH]')
    .action(
      action<{ readonly trash?: boolean }>(async (context, { options }) => {
        const query = options.trash === true ? { state: 'TRASH' as const } : {};
        await showList(context, (await context.client()).folders.list(query), FOLDER);
      }),
    );
  folder
    .command('create')
    .summary('create a folder')
    .argument('<name>')
    .option('--project <project>', 'where it is made')
    .option('--volume <volume>', 'where it lies')
    .addOption(OWNED_BY())
    .option('--members <permissions>', 'what members of the project may do: read,write,delete; none')
    .addOption(new Option('--usage <usage>', 'what it is for').choices(['general', 'model', 'data']).default('general'))
    .action(
      action<CreateOptions>(async ({ client, out, project: here }, { args: [name = ''], options }) => {
        const { volume, usage, ownedBy, members, project = here.project } = options;
        const made = await (await client()).folders.create({
          name,
          usage,
          ownedBy,
          ...(project === undefined ? {} : { project }),
          ...(volume === undefined ? {} : { volume }),
          ...(members === undefined ? {} : { memberPermissions: members === 'none' ? [] : parsePermissions(members) }),
        });
        await out.done(made, FOLDER, `mount it: berth run -v ${name}:/data IMAGE -- COMMAND`);
      }),
    );
  folder
    .command('show')
    .summary('all about a folder')
    .argument('<folder>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const found = await (await client()).folders.get(name);
        if (out.isData) return out.data(found);
        out.write(describeText(found));
      }),
    );
  folder
    .command('rm')
    .summary('delete a file or a directory; a whole folder at once, past the trash')
    .argument('<folder[:path]>')
    .action(
      action(async ({ client, out }, { args: [text = ''] }) => {
        const { folder, path } = parseFolderPath(text);
        const { folders } = await client();
        await (path === undefined ? folders.delete(folder) : folders.deleteFile({ folder, path }));
        out.say(`${text} is deleted`);
      }),
    );
}

function registerLife(folder: Command): void {
  folder
    .command('trash')
    .summary('move a folder to the trash')
    .argument('<folder>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const trashed = await (await client()).folders.trash(name);
        await out.done(trashed, FOLDER, `it is purged at ${trashed.purgeAt ?? '-'}; berth folder restore ${name}`);
      }),
    );
  folder
    .command('restore')
    .summary('take a folder back from the trash')
    .argument('<folder>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) =>
        out.done(await (await client()).folders.restore(name), FOLDER, 'restored'),
      ),
    );
  folder
    .command('purge')
    .summary('remove a folder of the trash, with all its bytes')
    .argument('<folder>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        await (await client()).folders.purge(name);
        out.say(`${name} is gone`);
      }),
    );
  folder
    .command('clone')
    .summary('a new folder with the same bytes')
    .argument('<folder>')
    .argument('<name>')
    .option('--project <project>', 'where it is made')
    .addOption(OWNED_BY())
    .action(
      action<CloneOptions>(async ({ client, out }, { args: [from = '', name = ''], options }) => {
        const { project, ownedBy } = options;
        const wanted = { name, ownedBy, ...(project === undefined ? {} : { project }) };
        const made = await (await client()).folders.clone(from, wanted);
        await out.done(made, FOLDER, made.state === 'READY' ? 'cloned' : 'it is being copied; berth folder show');
      }),
    );
}

function registerUsage(folder: Command): void {
  folder
    .command('usage')
    .summary('bytes of a folder, counted now; without one, of whom there is how much')
    .argument('[folder]')
    .action(
      action(async ({ client, out }, { args: [name] }) => {
        const { folders } = await client();
        if (name === undefined) return out.list({ items: await folders.owners() }, FOLDER_OWNER);
        const usage = await folders.usage(name);
        if (out.isData) return out.data(usage);
        out.line(`${usage.files} files in ${usage.directories} directories, ${formatBytes(usage.bytes)}`);
        if (usage.reservedBytes > 0) out.say(`${formatBytes(usage.reservedBytes)} more are kept for uploads under way`);
      }),
    );
  folder
    .command('volumes')
    .summary('where folders lie, and how long their trash keeps them')
    .action(action(async ({ client, out }) => out.list({ items: await (await client()).folders.volumes() }, VOLUME)));
}
