import type { Command } from 'commander';
import { openContext } from './command-context.js';

/** Time for names from the API: a key press must not hang. */
const NAMES_MILLISECONDS_MAX = 700;

type Named = 'session' | 'node' | 'folder' | 'pool' | 'model';

/** Commands whose first argument names a session, node, folder, pool or model. */
const NAMED: Readonly<Record<string, Named>> = {
  why: 'session',
  inspect: 'session',
  logs: 'session',
  stop: 'session',
  kill: 'session',
  wait: 'session',
  exec: 'session',
  history: 'session',
  'node get': 'node',
  'node show': 'node',
  'node drain': 'node',
  'node unhealthy': 'node',
  'node healthy': 'node',
  'node move': 'node',
  'node cancel-move': 'node',
  'node warm': 'node',
  'node cordon': 'node',
  'node uncordon': 'node',
  'node rm': 'node',
  'folder files': 'folder',
  gpu: 'pool',
  'pool get': 'pool',
  'pool set': 'pool',
  'pool scale': 'pool',
  'pool drain': 'pool',
  'pool rm': 'pool',
  'pool snapshot': 'pool',
  'model get': 'model',
  'model why': 'model',
  'model set': 'model',
  'model sleep': 'model',
  'model wake': 'model',
  'model rm': 'model',
  'model history': 'model',
  'model suggest': 'model',
};

/**
 * Adds `completion <shell>` and the hidden command that the shell calls. Called last: it reads the program. Names come
 * from the API when it answers at once, else none are offered.
 */
export async function addCompletion(program: Command, argv: readonly string[]): Promise<void> {
  const { default: tab } = await import('@bomb.sh/tab/commander');
  const root = tab(program, { completionCommandName: 'completion' });
  if (argv[0] !== 'complete') return;
  const kind = Object.entries(NAMED).find(([path]) => argv.slice(2).join(' ').startsWith(path))?.[1];
  if (kind === undefined) return;
  const names = await namesOf(kind);
  for (const [path, named] of Object.entries(NAMED)) {
    const argument = named === kind ? [...(root.commands.get(path)?.arguments.values() ?? [])][0] : undefined;
    if (argument !== undefined) argument.handler = (complete) => names.forEach((name) => complete(name, ''));
  }
}

async function namesOf(kind: Named): Promise<readonly string[]> {
  try {
    const client = await openContext({}).client();
    const signal = AbortSignal.timeout(NAMES_MILLISECONDS_MAX);
    if (kind === 'session') return await names(client.sessions.list({ open: true }, { signal }));
    if (kind === 'pool') return await names(client.pools.list({}, { signal }));
    if (kind === 'model')
      return (await client.models.list({}, { signal }).toArray(200)).map(({ modelName }) => modelName);
    return await names(kind === 'node' ? client.nodes.list({}, { signal }) : client.folders.list({}, { signal }));
  } catch {
    return []; // not logged in, or nobody answers: there is nothing to offer
  }
}

async function names(list: { toArray: (max: number) => Promise<readonly { name: string }[]> }) {
  return (await list.toArray(200)).map(({ name }) => name);
}
