import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Command, Option } from 'commander';
import type { FolderEntry } from '../../contract/index.js';
import type { Client } from '../../sdk/index.js';
import { parseCount } from '../amounts.js';
import { usageError } from '../cli-error.js';
import { FILE } from '../columns.js';
import { action, type CommandContext, interruptSignal } from '../command-context.js';
import { formatBytes } from '../format-amounts.js';
import { openProgress } from '../progress.js';
import { saveBytes } from '../save-bytes.js';
import { parseFolderPath } from './folder-path.js';

/** `2 bytes`, `4.5Ki`. */
const sizeText = (bytes: number): string => (bytes < 1024 ? `${bytes} bytes` : formatBytes(bytes));

interface PutFlags {
  readonly parallel: string;
  readonly again?: boolean;
}
const parallelOf = ({ parallel }: { readonly parallel: string }): number =>
  Math.max(1, parseCount({ name: '--parallel', text: parallel }));

async function put({ client, out }: CommandContext, args: readonly string[], flags: PutFlags): Promise<void> {
  const sources = args.slice(0, -1);
  const { folder, path = '' } = parseFolderPath(args.at(-1) ?? '');
  const [{ localFiles }, { putFiles }, { keptUploads, uploadsDirectory }, { createTransferMeter, showMeter }] =
    await Promise.all([
      import('../transfer/local-tree.js'),
      import('../transfer/put-files.js'),
      import('../transfer/kept-uploads.js'),
      import('../transfer/transfer-meter.js'),
    ]);
  const files = await localFiles(sources, path);
  const berth = await client({ isFollowing: true });
  const { id } = await berth.folders.get(folder);
  const total = { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
  const meter = createTransferMeter(total, { nowMs: () => performance.now() });
  const shown = showMeter(meter, await openProgress());
  const began = performance.now();
  const how = { parallel: parallelOf(flags), again: flags.again === true, signal: interruptSignal() };
  const kept = keptUploads(uploadsDirectory(process.env), id);
  const done = await putFiles(files, { client: berth, folder: id, kept, meter, ...how }).finally(() => shown.end());
  const seconds = Math.max(0.001, (performance.now() - began) / 1000);
  const [only] = files;
  if (files.length === 1 && only !== undefined && done.sha256 !== undefined) {
    if (out.isData) return out.data({ path: only.path, bytes: only.bytes, sha256: done.sha256 });
    out.line(only.path);
    return out.say(`${sizeText(only.bytes)}, sha256 ${done.sha256}, ${sizeText(Math.round(only.bytes / seconds))}/s`);
  }
  if (out.isData) return out.data({ files: files.length, sent: done.sent, bytes: done.bytes });
  for (const file of files) out.line(file.path);
  const rest = files.length === done.sent ? '' : `; ${files.length - done.sent} were there already`;
  out.say(`${done.sent} files, ${sizeText(done.bytes)}, ${sizeText(Math.round(done.bytes / seconds))}/s${rest}`);
}

async function isThere(file: string, { bytes }: FolderEntry, sha256: string | undefined): Promise<boolean> {
  const { sha256OfFile } = await import('../transfer/local-tree.js');
  const info = await stat(file).catch(() => null);
  return info !== null && info.size === bytes && sha256 === (await sha256OfFile(file));
}

interface TreeToGet {
  readonly folder: string;
  readonly path: string | undefined;
  readonly target: string;
  readonly parallel: number;
}

async function getTree({ out }: CommandContext, client: Client, tree: TreeToGet): Promise<void> {
  const { folder, path, target, parallel } = tree;
  const [{ getFile }, { atOnce }, { createTransferMeter, showMeter }] = await Promise.all([
    import('../transfer/get-file.js'),
    import('../transfer/local-tree.js'),
    import('../transfer/transfer-meter.js'),
  ]);
  const files = (await client.folders.listFiles(folder, path)).filter(({ type }) => type === 'file');
  const total = { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
  const meter = createTransferMeter(total, { nowMs: () => performance.now() });
  const sums = existsSync(target) ? ((await client.folders.treeSum({ folder, path, items: true })).items ?? []) : [];
  const known = new Map(sums.map((item) => [item.path, item.sha256]));
  const signal = interruptSignal();
  const shown = showMeter(meter, await openProgress());
  let got = 0;
  await atOnce(parallel, files, async (entry) => {
    const below = path === undefined ? entry.path : entry.path.slice(path.length + 1);
    const local = join(target, ...below.split('/'));
    if (await isThere(local, entry, known.get(entry.path))) return meter.skip(entry.path, entry.bytes);
    const onProgress = (bytes: number) => meter.at(entry.path, bytes);
    await getFile({ folder, path: entry.path }, local, { client, signal, onProgress });
    got += 1;
  }).finally(() => shown.end());
  const rest = files.length === got ? '' : `; ${files.length - got} were there already`;
  out.say(`${target}: ${got} files, ${sizeText(total.bytes)}${rest}`);
}

interface GetFlags {
  readonly parallel: string;
  readonly archive?: 'tar' | 'zip';
}

async function get(context: CommandContext, args: readonly string[], flags: GetFlags): Promise<void> {
  const [text = '', file] = args;
  const { out } = context;
  const { folder, path } = parseFolderPath(text);
  const client = await context.client({ isFollowing: true });
  if (flags.archive !== undefined) {
    const target = file ?? `${basename(path ?? folder)}.${flags.archive}`;
    const saved = await saveBytes(client.folders.archive({ folder, path }, flags.archive), target);
    if (target !== '-') out.say(`${target}: ${sizeText(saved.bytes)}`);
    return;
  }
  const isTree = path === undefined || (await client.folders.statFile({ folder, path })).type === 'directory';
  const target = file ?? basename(path ?? folder);
  if (isTree) return getTree(context, client, { folder, path, target, parallel: parallelOf(flags) });
  if (target === '-') {
    await saveBytes(client.folders.getFile({ folder, path }, { signal: interruptSignal() }), '-');
    return;
  }
  const [{ getFile }, { createTransferMeter, showMeter }] = await Promise.all([
    import('../transfer/get-file.js'),
    import('../transfer/transfer-meter.js'),
  ]);
  const { bytes } = await client.folders.statFile({ folder, path });
  const meter = createTransferMeter({ bytes, files: 1 }, { nowMs: () => performance.now() });
  const shown = showMeter(meter, await openProgress());
  const onProgress = (done: number) => meter.at(path, done);
  const saved = await getFile({ folder, path }, target, { client, signal: interruptSignal(), onProgress }).finally(() =>
    shown.end(),
  );
  out.say(`${target}: ${sizeText(saved.bytes)}, sha256 ${saved.sha256}`);
}

/** The path is needed: a whole folder is not moved, made or summed by these. */
function fileOf(text: string): { readonly folder: string; readonly path: string } {
  const { folder, path } = parseFolderPath(text);
  if (path === undefined) throw usageError(`"${text}" names no file`, `berth folder files ${folder}`);
  return { folder, path };
}

const PARALLEL = () => new Option('--parallel <n>', 'files at once').default('4');

export function registerFolderFiles(folder: Command): void {
  folder
    .command('files')
    .summary('files of a folder')
    .argument('<folder[:path]>')
    .action(
      action(async ({ client, out }, { args: [text = ''] }) => {
        const { folder: name, path } = parseFolderPath(text);
        await out.list({ items: await (await client()).folders.listFiles(name, path) }, FILE);
      }),
    );
  folder
    .command('put')
    .summary('upload files and directories; a second try goes on')
    .argument('<file...>', 'files or directories here, then <folder[:path]>')
    .addOption(PARALLEL())
    .option('--again', 'also what is there with the same bytes')
    .action(
      action<PutFlags>(async (context, { args, options }) => {
        if (args.length < 2)
          throw usageError('put needs a file and a folder', 'berth folder put model.bin data:models/');
        await put(context, args, options);
      }),
    );
  folder
    .command('get')
    .summary('download a file or a directory; a second try goes on')
    .argument('<folder[:path]>')
    .argument('[file]', 'where to; its own name here when left out, - for stdout')
    .addOption(PARALLEL())
    .addOption(new Option('--archive <kind>', 'as one file').choices(['tar', 'zip']))
    .action(action<GetFlags>((context, { args, options }) => get(context, args, options)));
}

/** Changes in place. */
export function registerFolderChanges(folder: Command): void {
  folder
    .command('mkdir')
    .summary('make a directory in a folder')
    .argument('<folder:path>')
    .action(
      action(async ({ client, out }, { args: [text = ''] }) => {
        await (await client()).folders.makeDirectory(fileOf(text));
        out.say(`${text} is there`);
      }),
    );
  folder
    .command('mv')
    .summary('rename in a folder; nothing is replaced')
    .argument('<folder:path>')
    .argument('<path>', 'the new path, in the same folder')
    .action(
      action(async ({ client, out }, { args: [text = '', to = ''] }) => {
        const target = to.includes(':') ? fileOf(to).path : to;
        await (await client()).folders.moveFile(fileOf(text), target);
        out.say(`${text} is ${target} now`);
      }),
    );
  folder
    .command('checksum')
    .summary('SHA-256 of all files below, as sha256sum prints it')
    .argument('<folder[:path]>')
    .action(
      action(async ({ client, out }, { args: [text = ''] }) => {
        const sum = await (await client()).folders.treeSum({ ...parseFolderPath(text), items: true });
        if (out.isData) return out.data(sum);
        for (const { sha256, path } of sum.items ?? []) out.line(`${sha256}  ${path}`);
        out.say(`${sum.files} files, ${sizeText(sum.bytes)}; all: ${sum.sha256}`);
      }),
    );
}
