import { createReadStream, existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { usageError } from '../cli-error.js';
import { FILE, FOLDER } from '../columns.js';
import { action, interruptSignal } from '../command-context.js';
import { formatBytes } from '../format-amounts.js';
import { showList } from '../kinds.js';
import { saveBytes } from '../save-bytes.js';

interface CreateOptions {
  readonly project?: string;
  readonly volume?: string;
  readonly usage: 'general' | 'model' | 'data';
}

/** `FOLDER:path`, or `FOLDER` alone. */
export function parseFolderPath(text: string): { readonly folder: string; readonly path: string | undefined } {
  const at = text.indexOf(':');
  if (at === -1) return { folder: text, path: undefined };
  const path = text.slice(at + 1).replace(/^\/+/, '');
  return { folder: text.slice(0, at), path: path === '' ? undefined : path };
}

export function registerFolder(program: Command): void {
  const folder = program
    .command('folder')
    .summary('folders: files that outlive sessions')
    .description('Folders: files that outlive sessions. Bytes go through the storage proxy, checked by SHA-256.');
  registerFolders(folder);
  registerFiles(folder);
}

function registerFolders(folder: Command): void {
  folder
    .command('ls')
    .summary('folders you may see')
    .action(action(async (context) => showList(context, (await context.client()).folders.list(), FOLDER)));
  folder
    .command('create')
    .summary('create a folder')
    .argument('<name>')
    .option('--project <project>', 'whose it is')
    .option('--volume <volume>', 'where it lies')
    .addOption(new Option('--usage <usage>', 'what it is for').choices(['general', 'model', 'data']).default('general'))
    .action(
      action<CreateOptions>(async ({ client, out, project: here }, { args: [name = ''], options }) => {
        const { volume, usage, project = here.project } = options;
        const more = { ...(project === undefined ? {} : { project }), ...(volume === undefined ? {} : { volume }) };
        const made = await (await client()).folders.create({ name, usage, ...more });
        await out.done(made, FOLDER, `mount it: berth run -v ${name}:/data IMAGE -- COMMAND`);
      }),
    );
  folder
    .command('rm')
    .summary('delete a folder, or one of its files')
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

function registerFiles(folder: Command): void {
  folder
    .command('files')
    .summary('files of a folder')
    .argument('<folder[:path]>')
    .action(
      action(async ({ client, out }, { args: [text = ''] }) => {
        const { folder, path } = parseFolderPath(text);
        await out.list({ items: await (await client()).folders.listFiles(folder, path) }, FILE);
      }),
    );
  folder
    .command('put')
    .summary('upload a file')
    .argument('<file>', 'a file here')
    .argument('<folder[:path]>', 'where to; its own name when the path is left out or ends with /')
    .action(
      action(async ({ client, out }, { args: [file = '', text = ''] }) => {
        if (!existsSync(file)) throw usageError(`there is no file ${file} here`);
        if (!statSync(file).isFile()) throw usageError(`${file} is no file: put takes one file at a time`);
        const { folder, path = '' } = parseFolderPath(text);
        const target = path === '' || path.endsWith('/') ? `${path}${basename(file)}` : path;
        const open = () => createReadStream(file, { highWaterMark: 256 * 1024 }) as AsyncIterable<Uint8Array>;
        const { folders } = await client();
        const uploaded = await folders.putFile({ folder, path: target }, open, { signal: interruptSignal() });
        if (out.isData) return out.data(uploaded);
        out.line(uploaded.path);
        out.say(`${sizeText(uploaded.bytes)}, sha256 ${uploaded.sha256}`);
      }),
    );
  folder
    .command('get')
    .summary('download a file')
    .argument('<folder:path>')
    .argument('[file]', 'where to; its own name here when left out, - for stdout')
    .action(
      action(async ({ client, out }, { args: [text = '', file] }) => {
        const { folder, path } = parseFolderPath(text);
        if (path === undefined) throw usageError(`"${text}" names no file`, `berth folder files ${folder}`);
        const bytes = (await client()).folders.getFile({ folder, path }, { signal: interruptSignal() });
        const target = file ?? basename(path);
        const saved = await saveBytes(bytes, target);
        if (target !== '-') out.say(`${target}: ${sizeText(saved.bytes)}, sha256 ${saved.sha256}`);
      }),
    );
}

/** `2 bytes`, `4.5Ki`. */
const sizeText = (bytes: number): string => (bytes < 1024 ? `${bytes} bytes` : formatBytes(bytes));
