import type {
  ApiKey,
  App,
  Domain,
  Folder,
  Group,
  Node,
  Project,
  QueueEntry,
  Quota,
  Session,
  SessionEvent,
  User,
} from '../contract/index.js';
import type { FolderEntry } from '../sdk/index.js';
import { formatAge, formatBytes, formatCpu, formatSlots, formatUntil } from './format-amounts.js';
import type { Shown } from './output.js';
import type { Column } from './table.js';

const age = <Item extends { readonly createdAt: string }>(): Column<Item> => ({
  head: 'AGE',
  of: ({ createdAt }, now) => formatAge(createdAt, now),
});
const byName = { nameOf: (item: { readonly name: string }) => item.name };
const byNameOnly = { ...byName, idOf: byName.nameOf };
const byNameAndId = { ...byName, idOf: (item: { readonly id: string }) => item.id };

const nodesOf = ({ kernels }: Session): string =>
  [...new Set(kernels.flatMap(({ node }) => (node === null ? [] : [node])))].join(',') || '-';

/** Pretended devices are called so wherever they are shown. */
function modelsText(devices: Node['devices'], isSimulated: boolean): string {
  const models = [...new Set(devices.map(({ model }) => model))].join(',') || '-';
  return isSimulated && models !== 'simulated' ? `${models} (simulated)` : models;
}

/** What a waiting session waits for, and until when it backs off; or how an ended one ended. */
function whyOf({ reason, cause, retryAt }: Session, now: Date): string {
  const until = reason === 'backoff' && retryAt !== null ? ` (${formatUntil(retryAt, now)})` : '';
  return `${reason ?? cause ?? ''}${until}`;
}

const startText = (start: QueueEntry['expectedStart'], now: Date): string =>
  start === null || start.at === null ? '-' : formatUntil(start.at, now);

export const APP: Shown<App> = {
  ...byNameOnly,
  none: 'no ports; a session gets some with: berth run -p http:8000',
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'PORT', of: ({ containerPort }) => String(containerPort) },
    { head: 'OPEN TO', of: ({ sharing }) => sharing },
    { head: 'UNTIL', of: ({ expiresAt }, now) => (expiresAt === null ? '-' : formatUntil(expiresAt, now)) },
    { head: 'URL', of: ({ url }) => url },
  ],
};

/** In brackets: it names one that charges nothing, since it has no minimum runtime. */
const budgetOf = ({ budget, contract }: Session): string =>
  budget === null ? '-' : contract?.allocated === false ? `(${budget})` : budget;

export const SESSION: Shown<Session> = {
  ...byNameAndId,
  none: 'no sessions; with ended ones: berth ps -a',
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'STATE', of: ({ state }) => state },
    { head: 'WHY', of: whyOf },
    { head: 'USER', of: ({ user }) => user },
    { head: 'PROJECT', of: ({ project }) => project },
    { head: 'SLOTS', of: ({ slots }) => formatSlots(slots) },
    { head: 'NODE', of: nodesOf },
    { head: 'AGE', of: ({ submittedAt }, now) => formatAge(submittedAt, now) },
    { head: 'STARTS', of: ({ expectedStart }, now) => startText(expectedStart, now), isWide: true },
    { head: 'BUDGET', of: budgetOf, isWide: true },
    { head: 'TRY', of: ({ attempt, maxAttempts }) => `${attempt}/${maxAttempts}`, isWide: true },
    { head: 'IMAGE', of: ({ image }) => image, isWide: true },
    { head: 'EXIT', of: ({ exitCode }) => (exitCode === null ? '' : String(exitCode)), isWide: true },
    { head: 'ID', of: ({ id }) => id, isWide: true },
    { head: 'MESSAGE', of: ({ message }) => message ?? '', isWide: true },
  ],
};

/** Whole, or in part. */
const isTaken = ({ heldBy, shares }: Node['devices'][number]): boolean => heldBy !== null || shares.length > 0;

const nodeStateText = ({ state, drain }: Node, now: Date): string =>
  drain === null || drain.emptyAt === null ? state : `${state} (empty ${formatUntil(drain.emptyAt, now)})`;

export const NODE: Shown<Node> = {
  ...byNameOnly,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'GROUP', of: ({ group }) => group },
    { head: 'STATE', of: nodeStateText },
    { head: 'CPU', of: ({ used, capacity }) => `${formatCpu(used.cpuMilli)}/${formatCpu(capacity.cpuMilli)}` },
    {
      head: 'MEM',
      of: ({ used, capacity }) => `${formatBytes(used.memoryBytes)}/${formatBytes(capacity.memoryBytes)}`,
    },
    {
      head: 'GPU',
      of: ({ devices }) => `${devices.filter(isTaken).length}/${devices.length}`,
    },
    {
      head: 'MODEL',
      of: ({ devices, simulated }) => modelsText(devices, simulated),
    },
    age(),
    { head: 'ARCH', of: ({ architecture }) => architecture, isWide: true },
    { head: 'REPORTED', of: ({ lastSeenAt }, now) => formatAge(lastSeenAt, now), isWide: true },
    { head: 'ZONE', of: ({ zone }) => zone ?? '-', isWide: true },
    {
      head: 'MOVES',
      of: ({ move }, now) => (move === null ? '-' : `${move.toGroup} ${formatUntil(move.at, now)}`),
      isWide: true,
    },
    { head: 'REASON', of: ({ stateReason }) => stateReason ?? '', isWide: true },
  ],
};

export const GROUP: Shown<Group> = {
  ...byNameOnly,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'NODES', of: ({ nodes }) => String(nodes) },
    { head: 'RUNNING', of: ({ runningSessions }) => String(runningSessions) },
    { head: 'WAITING', of: ({ pendingSessions }) => String(pendingSessions) },
    { head: 'ORDER', of: ({ policy }) => policy.order },
    { head: 'PLACEMENT', of: ({ policy }) => policy.placement },
    { head: 'STATE', of: ({ policy }) => (policy.paused ? 'paused' : 'open') },
    { head: 'AGE', of: ({ createdAt }, now) => formatAge(createdAt, now) },
    { head: 'BLOCKED-BY', of: ({ blockedBy }) => blockedBy ?? '-', isWide: true },
  ],
};

/** `BEHIND` names who blocks the queue; by name where it is in the list. */
export const queueShown = (items: readonly QueueEntry[]): Shown<QueueEntry> => ({
  ...byName,
  none: 'nobody waits',
  idOf: ({ sessionId }) => sessionId,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'PLACE', of: ({ position }) => String(position) },
    { head: 'USER', of: ({ user }) => user },
    { head: 'PROJECT', of: ({ project }) => project },
    { head: 'PRIORITY', of: ({ priority }) => String(priority) },
    { head: 'SLOTS', of: ({ slots }) => formatSlots(slots) },
    { head: 'WAITED', of: ({ submittedAt }, now) => formatAge(submittedAt, now) },
    { head: 'WHY', of: ({ reason }) => reason },
    { head: 'BEHIND', of: ({ blockedBy }) => nameIn(items, blockedBy) },
    { head: 'STARTS', of: ({ expectedStart }, now) => startText(expectedStart, now) },
    { head: 'GPU-AHEAD', of: ({ gpusAhead }) => String(gpusAhead), isWide: true },
    { head: 'RESERVED', of: ({ reservedNodes }) => reservedNodes.join(',') || '-', isWide: true },
    { head: 'ID', of: ({ sessionId }) => sessionId, isWide: true },
    { head: 'MESSAGE', of: ({ message }) => message, isWide: true },
  ],
});

const nameIn = (items: readonly QueueEntry[], id: string | null): string =>
  id === null ? '-' : (items.find(({ sessionId }) => sessionId === id)?.name ?? id);

const limit = (held: string, most: string | undefined): string => `${held}/${most ?? '-'}`;
const optional = (amount: number | undefined, format: (amount: number) => string): string | undefined =>
  amount === undefined ? undefined : format(amount);

export const QUOTA: Shown<Quota> = {
  none: 'no limits bind you',
  nameOf: ({ scope, name }) => `${scope}/${name}`,
  idOf: ({ scope, name }) => `${scope}/${name}`,
  columns: [
    { head: 'NAME', of: ({ scope, name }) => `${scope}/${name}` },
    { head: 'GPU', of: ({ held, limits }) => limit(String(held.gpuCount), optional(limits.gpuCount, String)) },
    { head: 'CPU', of: ({ held, limits }) => limit(formatCpu(held.cpuMilli), optional(limits.cpuMilli, formatCpu)) },
    {
      head: 'MEM',
      of: ({ held, limits }) => limit(formatBytes(held.memoryBytes), optional(limits.memoryBytes, formatBytes)),
    },
    { head: 'SESSIONS', of: ({ held, limits }) => limit(String(held.sessions), optional(limits.sessions, String)) },
    {
      head: 'WAITING',
      of: ({ pendingSessions, limits }) => limit(String(pendingSessions), optional(limits.pendingSessions, String)),
    },
  ],
};

export const FOLDER: Shown<Folder> = {
  ...byNameAndId,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'PROJECT', of: ({ project }) => project },
    { head: 'OWNER', of: ({ owner }) => owner },
    { head: 'USAGE', of: ({ usage }) => usage },
    { head: 'STATE', of: ({ state }) => state },
    age(),
    { head: 'VOLUME', of: ({ volume }) => volume, isWide: true },
    { head: 'ID', of: ({ id }) => id, isWide: true },
  ],
};

export const FILE: Shown<FolderEntry> = {
  nameOf: ({ path }) => path,
  idOf: ({ path }) => path,
  columns: [
    { head: 'NAME', of: ({ path, type }) => (type === 'directory' ? `${path}/` : path) },
    { head: 'SIZE', of: ({ bytes, type }) => (type === 'directory' ? '-' : formatBytes(bytes)) },
    { head: 'AGE', of: ({ modifiedAt }, now) => formatAge(modifiedAt, now) },
  ],
};

export const KEY: Shown<ApiKey> = {
  ...byNameAndId,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'USER', of: ({ user }) => user },
    { head: 'SCOPE', of: ({ scope }) => scope },
    { head: 'PREFIX', of: ({ prefix }) => prefix },
    { head: 'STATE', of: ({ revokedAt }) => (revokedAt === null ? 'valid' : 'revoked') },
    { head: 'USED', of: ({ lastUsedAt }, now) => formatAge(lastUsedAt, now) },
    age(),
    { head: 'ID', of: ({ id }) => id, isWide: true },
  ],
};

export const USER: Shown<User> = {
  ...byNameAndId,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'DOMAIN', of: ({ domain }) => domain },
    { head: 'ROLE', of: ({ role }) => role },
    { head: 'PROJECTS', of: ({ projects }) => projects.map(({ name }) => name).join(',') || '-' },
    age(),
    { head: 'ID', of: ({ id }) => id, isWide: true },
  ],
};

export const PROJECT: Shown<Project> = {
  ...byNameAndId,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'DOMAIN', of: ({ domain }) => domain },
    age(),
    { head: 'ID', of: ({ id }) => id, isWide: true },
  ],
};

export const DOMAIN: Shown<Domain> = {
  ...byNameAndId,
  columns: [{ head: 'NAME', of: ({ name }) => name }, age(), { head: 'ID', of: ({ id }) => id, isWide: true }],
};

export const EVENT: Shown<SessionEvent> = {
  nameOf: ({ id }) => id,
  idOf: ({ id }) => id,
  columns: [
    { head: 'TIME', of: ({ at }) => at },
    { head: 'KIND', of: ({ kind }) => kind },
    { head: 'FROM', of: ({ from }) => from ?? '' },
    { head: 'TO', of: ({ to }) => to ?? '' },
    { head: 'CAUSE', of: ({ cause }) => cause },
    { head: 'BY', of: ({ actor }) => actor },
    { head: 'MESSAGE', of: ({ message }) => message },
  ],
};
