import { spawn } from 'node:child_process';
import { type Command, Option } from 'commander';
import type { App, Client } from '../../sdk/index.js';
import { parseDurationSeconds } from '../amounts.js';
import { CliError, usageError } from '../cli-error.js';
import { APP } from '../columns.js';
import { action } from '../command-context.js';
import { EXIT } from '../exit-codes.js';
import { which } from '../supervisor/programs.js';

interface OpenOptions {
  readonly print?: boolean;
  readonly path?: string;
}
interface ShareOptions {
  readonly with: App['sharing'];
  readonly expires?: string;
}

/** Ports of sessions in the browser, and who may open them. */
export function registerApps(program: Command): void {
  program
    .command('open')
    .summary('open a port of a session in the browser')
    .description(
      'Opens a named port of a session. The link works once, for a minute; then a cookie of that app alone. Without a browser here, or with --print, it is printed.',
    )
    .argument('<session>', 'name or id')
    .argument('[port]', "a port's name or number; its only port when omitted")
    .option('--print', 'print the link, open nothing')
    .option('--path <path>', 'where in the app, as /lab')
    .action(
      action<OpenOptions>(async ({ client, out }, { args: [session = '', named], options }) => {
        const berth = await client();
        const port = named ?? (await onlyPort(berth, session));
        const opened = await berth.apps.open(
          { session, port },
          options.path === undefined ? {} : { path: options.path },
        );
        if (out.isData) return out.data(opened);
        if (options.print !== true && !out.isQuiet && showInBrowser(opened.url)) {
          return out.say(`opening ${new URL(opened.url).origin}`);
        }
        out.line(opened.url);
      }),
    );
  registerSharing(program);
}

function registerSharing(program: Command): void {
  program
    .command('apps')
    .summary('ports of a session, and who may open them')
    .argument('<session>', 'name or id')
    .action(
      action(async ({ client, out }, { args: [session = ''] }) => {
        await out.list({ items: await (await client()).apps.list(session) }, APP);
      }),
    );
  program
    .command('share')
    .summary('let others open a port of a session')
    .description(
      'Shares a port with the project, by a link that ends, or with everybody. Berth asks no password of them.',
    )
    .argument('<session>', 'name or id')
    .argument('[port]', "a port's name or number; its only port when omitted")
    .addOption(new Option('--with <whom>', 'who may open it').choices(['project', 'link', 'public']).default('project'))
    .option('--expires <time>', 'of the link: 2h, 7d …; 7d when omitted')
    .action(
      action<ShareOptions>(async ({ client, out }, { args: [session = '', named], options }) => {
        const { with: sharing, expires } = options;
        if (expires !== undefined && sharing !== 'link') throw usageError('--expires: only a link has an end');
        const seconds = expires === undefined ? undefined : parseDurationSeconds({ name: '--expires', text: expires });
        const berth = await client();
        const port = named ?? (await onlyPort(berth, session));
        const how = { sharing, ...(seconds === undefined ? {} : { expiresInSeconds: Math.round(seconds) }) };
        const shared = await berth.apps.share({ session, port }, how);
        if (out.isData) return out.data(shared);
        out.line(shared.link ?? shared.url);
        out.say(`${WHO[sharing]}; to end that: berth unshare ${session} ${port}`);
      }),
    );
  program
    .command('unshare')
    .summary('only its owner opens it again')
    .argument('<session>', 'name or id')
    .argument('[port]', "a port's name or number; its only port when omitted")
    .action(
      action(async ({ client, out }, { args: [session = '', named] }) => {
        const berth = await client();
        const port = named ?? (await onlyPort(berth, session));
        const shared = await berth.apps.share({ session, port }, { sharing: 'me' });
        await out.done(shared, APP, 'open to its owner alone; what others had open is cut');
      }),
    );
}

const WHO: Readonly<Record<App['sharing'], string>> = {
  me: 'open to its owner alone',
  project: 'open to the members of its project, with berth open',
  link: 'open to whoever has this link',
  public: 'open to everybody who reaches this address',
};

/** Throws, with the names, when there is not exactly one. */
export async function onlyPort(berth: Client, session: string): Promise<string> {
  const apps = await berth.apps.list(session);
  const [only, ...more] = apps;
  if (only !== undefined && more.length === 0) return only.name;
  if (only === undefined) throw new CliError(`${session} has no ports`, EXIT.notFound, 'berth run -p http:8000 …');
  throw usageError(`${session} has several ports: name one of ${apps.map(({ name }) => name).join(', ')}`);
}

/** False when there is no way to. What it does is not waited for. */
function showInBrowser(url: string): boolean {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const hasScreen = process.platform === 'darwin' || Boolean(process.env['DISPLAY'] ?? process.env['WAYLAND_DISPLAY']);
  if (!process.stdout.isTTY || !hasScreen || which(opener) === undefined) return false;
  spawn(opener, [url], { detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref();
  return true;
}
