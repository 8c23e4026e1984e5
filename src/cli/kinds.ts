import type { Client, List } from '../sdk/index.js';
import { BUDGET } from './budget-columns.js';
import { CliError, usageError } from './cli-error.js';
import { DOMAIN, FOLDER, GROUP, KEY, NODE, PROJECT, QUOTA, SESSION, USER } from './columns.js';
import type { CommandContext } from './command-context.js';
import { DEPLOYMENT } from './deployment-columns.js';
import { EXIT } from './exit-codes.js';
import { MODEL } from './model-columns.js';
import type { Shown } from './output.js';
import { POOL } from './pool-columns.js';

/** A kind of thing for `get` and `describe`. */
export interface Kind {
  readonly names: readonly string[];
  readonly list: (context: CommandContext) => Promise<void>;
  readonly get: (context: CommandContext, name: string) => Promise<void>;
  readonly find: (client: Client, name: string) => Promise<object>;
}

/** More than this of a list is not shown; filters or `-o json` with the SDK get at the rest. */
const SHOWN_MAX = 1000;

export async function showList<Item>(context: CommandContext, list: List<Item>, shown: Shown<Item>): Promise<void> {
  const items = await list.toArray(SHOWN_MAX + 1);
  await context.out.list({ items: items.slice(0, SHOWN_MAX) }, shown);
  if (items.length > SHOWN_MAX) context.out.say(`only the first ${SHOWN_MAX} are shown`);
}

interface Definition<Item extends object> {
  readonly names: readonly string[];
  readonly shown: Shown<Item>;
  readonly list: (client: Client) => List<Item>;
  /** Found in the list by name or id when the API has no route for one. */
  readonly get?: (client: Client, name: string) => Promise<Item>;
}

function define<Item extends object>({ names, shown, list, get }: Definition<Item>): Kind {
  const find = async (client: Client, name: string): Promise<Item> => {
    if (get !== undefined) return get(client, name);
    for await (const item of list(client)) if (shown.nameOf(item) === name || shown.idOf(item) === name) return item;
    throw new CliError(`there is no ${names[0]} "${name}", or you may not see it`, EXIT.notFound);
  };
  return {
    names,
    find,
    list: async (context) => showList(context, list(await context.client()), shown),
    get: async (context, name) => context.out.one(await find(await context.client(), name), shown),
  };
}

/** `user/alice`, `project/main/vision`. */
export function parseQuotaName(text: string) {
  const match = /^(user|project|domain)\/(.+)$/.exec(text);
  if (match === null) {
    throw usageError(`"${text}" is not a quota: write user/NAME, project/DOMAIN/NAME or domain/NAME`);
  }
  return { scope: match[1] as 'user' | 'project' | 'domain', name: match[2] ?? '' };
}

export const KINDS: readonly Kind[] = [
  define({
    names: ['session', 'sessions', 'ses'],
    shown: SESSION,
    list: (client) => client.sessions.list({ open: true }),
    get: (client, name) => client.sessions.get(name),
  }),
  define({
    names: ['node', 'nodes'],
    shown: NODE,
    list: (client) => client.nodes.list(),
    get: (client, name) => client.nodes.get(name),
  }),
  define({
    names: ['group', 'groups'],
    shown: GROUP,
    list: (client) => client.groups.list(),
    get: (client, name) => client.groups.get(name),
  }),
  define({
    names: ['quota', 'quotas'],
    shown: QUOTA,
    list: (client) => client.quotas.list(),
    get: (client, name) => client.quotas.get(parseQuotaName(name)),
  }),
  define({
    names: ['budget', 'budgets'],
    shown: BUDGET,
    list: (client) => client.budgets.list({ limit: 500 }),
    get: (client, name) => client.budgets.get(name),
  }),
  define({
    names: ['pool', 'pools'],
    shown: POOL,
    list: (client) => client.pools.list(),
    get: (client, name) => client.pools.get(name),
  }),
  define({
    names: ['model', 'models'],
    shown: MODEL,
    list: (client) => client.models.list(),
    get: (client, name) => client.models.get(name),
  }),
  define({
    names: ['deployment', 'deployments', 'deploy'],
    shown: DEPLOYMENT,
    list: (client) => client.deployments.list(),
    get: (client, name) => client.deployments.get(name),
  }),
  define({
    names: ['folder', 'folders'],
    shown: FOLDER,
    list: (client) => client.folders.list(),
    get: (client, name) => client.folders.get(name),
  }),
  define({ names: ['key', 'keys'], shown: KEY, list: (client) => client.keys.list() }),
  define({ names: ['user', 'users'], shown: USER, list: (client) => client.users.list() }),
  define({ names: ['project', 'projects'], shown: PROJECT, list: (client) => client.projects.list() }),
  define({ names: ['domain', 'domains'], shown: DOMAIN, list: (client) => client.domains.list() }),
];

export function kindOf(name: string): Kind {
  const kind = KINDS.find(({ names }) => names.includes(name));
  if (kind !== undefined) return kind;
  throw usageError(`there is no kind "${name}": ${KINDS.map(({ names }) => names[0]).join(', ')}`);
}
