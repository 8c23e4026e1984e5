import type {
  Folder,
  FolderId,
  FolderPermission,
  OperationId,
  Principal,
  StorageOperation,
} from '../../contract/index.js';
import type { TooManyFolders } from '../../store/store.js';
import type { ApiDeps } from '../deps.js';
import type { Checks, Handlers } from '../handler.js';
import { found, invalid, notFound, type ProblemError, problem } from '../problem.js';
import { finishClone } from '../purge-folders.js';
import { mustHavePermissions, mustOwnFolder } from '../rights.js';

type Ids = Extract<
  OperationId,
  | 'createFolder'
  | 'listFolders'
  | 'getFolder'
  | 'patchFolder'
  | 'deleteFolder'
  | 'trashFolder'
  | 'restoreFolder'
  | 'purgeFolder'
  | 'cloneFolder'
  | 'createTransfer'
  | 'getFolderUsage'
  | 'listFolderOwners'
  | 'listVolumes'
  | 'putVolume'
>;

/** Longer clones go on by themselves; their folder is CLONING until then. */
const CLONE_WAIT_MS = 5_000;
const COUNTED_MAX = 200;

const NEEDS: Readonly<Partial<Record<StorageOperation, readonly FolderPermission[]>>> = {
  read: ['read'],
  list: ['read'],
  write: ['write'],
  unpack: ['write'],
  mkdir: ['write'],
  move: ['write', 'delete'],
  delete: ['delete'],
};
const WRITES: ReadonlySet<StorageOperation> = new Set(['write', 'unpack']);
const NEEDS_PATH: ReadonlySet<StorageOperation> = new Set(['write', 'mkdir', 'move']);

export const seeFolder = async (
  { store }: Pick<ApiDeps, 'store'>,
  idOrName: string,
  principal: Principal,
): Promise<Folder> => found(await store.folders.find(idOrName, principal), `folder ${idOrName}`);

export const overLimit = ({ limit }: TooManyFolders): ProblemError =>
  problem('quota_exceeded', `${limit.scope} ${limit.name} may have ${limit.folders} folders, those in the trash too`, {
    hint: 'berth folder usage',
  });
const isMounted = ({ name }: Folder, mountedBy: readonly string[]): ProblemError =>
  problem('conflict', `${name} is mounted by ${mountedBy.join(', ')}`);
const nameTaken = (name: string): ProblemError => problem('conflict', `there is a folder ${name} already`);

/** What was made, or its refusal. */
export function mustBeMade(
  made: Folder | 'exists' | 'no-project' | TooManyFolders,
  name: string,
  project: string | null,
): Folder {
  if (made === 'exists') throw nameTaken(name);
  if (made === 'no-project') throw notFound(`project ${project}`);
  if ('limit' in made) throw overLimit(made);
  return made;
}

/** The owner's word is asked before a dry run answers, too. */
export const folderChecks = (deps: ApiDeps) => {
  const owns = async ({ params }: { params: { folder: string } }, { principal }: { principal: Principal }) =>
    mustOwnFolder(await seeFolder(deps, params.folder, principal));
  return {
    patchFolder: owns,
    deleteFolder: owns,
    trashFolder: owns,
    restoreFolder: owns,
    purgeFolder: owns,
    giveFolder: owns,
    inviteToFolder: owns,
    listFolderInvitations: owns,
    revokeFolderInvitation: owns,
    cloneFolder: async ({ params }, { principal }) =>
      mustHavePermissions(await seeFolder(deps, params.folder, principal), ['read']),
  } satisfies Checks;
};

/** What there is, and what is made. */
function registryHandlers(
  deps: ApiDeps,
): Handlers<'createFolder' | 'listFolders' | 'getFolder' | 'patchFolder' | 'cloneFolder'> {
  const { options } = deps;
  const { folders } = deps.store;
  const see = (idOrName: string, principal: Principal) => seeFolder(deps, idOrName, principal);

  return {
    async createFolder({ body }, { principal, resourceId }) {
      const { name, usage, ownedBy, memberPermissions, project = null, volume = options.volumes[0] } = body;
      if (volume === undefined || !options.volumes.includes(volume)) {
        throw invalid('/volume', `the volumes are ${options.volumes.join(', ') || 'none'}`);
      }
      const wanted = { id: resourceId as FolderId, name, project, volume, usage, ownedBy, memberPermissions };
      return mustBeMade(await folders.create(wanted, principal), name, project);
    },
    listFolders: ({ query }, { principal }) => folders.list(query, principal) as never,
    getFolder: ({ params }, { principal }) => see(params.folder, principal),
    async patchFolder({ params, body }, { principal }) {
      const { id } = await see(params.folder, principal);
      if ((await folders.patch(id, body)) === 'exists') throw nameTaken(body.name ?? '');
      return see(id, principal);
    },
    async cloneFolder({ params, body }, { principal, resourceId }) {
      const source = await see(params.folder, principal);
      if (source.state !== 'READY') throw problem('conflict', `${source.name} is in state ${source.state}`);
      const { name, ownedBy, usage = source.usage, project = null } = body;
      const id = resourceId as FolderId;
      const wanted = { id, name, project, volume: source.volume, usage, ownedBy, cloneOf: source.id };
      mustBeMade(await folders.create(wanted, principal), name, project);
      await finishClone(deps, { id, volume: source.volume, cloneOf: source.id }, CLONE_WAIT_MS).catch(
        (error: unknown) => {
          if ((error as ProblemError).refusal?.code !== 'unavailable') throw error; // it goes on, and a round ends it
        },
      );
      return see(id, principal);
    },
  };
}

/** In and out of the trash, and away. */
function lifeHandlers(deps: ApiDeps): Handlers<'deleteFolder' | 'trashFolder' | 'restoreFolder' | 'purgeFolder'> {
  const { folderBytes } = deps;
  const { folders } = deps.store;
  const see = (idOrName: string, principal: Principal) => seeFolder(deps, idOrName, principal);

  const purge = async (folder: Folder): Promise<undefined> => {
    const outcome = await folders.remove(folder.id);
    if (outcome === 'missing') throw notFound(`folder ${folder.name}`);
    if (outcome !== 'ok') throw isMounted(folder, outcome.mountedBy);
    await folderBytes.remove(folder);
    await folders.purged(folder.id);
    return undefined;
  };

  return {
    deleteFolder: async ({ params }, { principal }) => purge(await see(params.folder, principal)),
    async trashFolder({ params }, { principal }) {
      const folder = await see(params.folder, principal);
      const outcome = await folders.trash(folder.id);
      if (outcome === 'missing') throw problem('conflict', `${folder.name} is in state ${folder.state}`);
      if (outcome !== 'ok') throw isMounted(folder, outcome.mountedBy);
      return see(folder.id, principal);
    },
    async restoreFolder({ params }, { principal }) {
      const folder = await see(params.folder, principal);
      const outcome = await folders.restore(folder.id);
      if (outcome === 'exists') throw nameTaken(folder.name);
      if (outcome === 'missing') throw problem('gone', `${folder.name} is being removed`);
      return see(folder.id, principal);
    },
    async purgeFolder({ params }, { principal }) {
      const folder = await see(params.folder, principal);
      const isTrashed = folder.state === 'TRASH' || folder.state === 'PURGING';
      const hint = `berth folder trash ${folder.name}`;
      if (!isTrashed) throw problem('conflict', `${folder.name} is not in the trash`, { hint });
      return purge(folder);
    },
  };
}

/** Tokens for the storage proxy, and what it counts. */
function bytesHandlers(deps: ApiDeps): Handlers<'createTransfer' | 'getFolderUsage' | 'listFolderOwners'> {
  const { folderBytes } = deps;
  const { folders } = deps.store;

  return {
    async createTransfer({ params, body }, { principal }) {
      const folder = await seeFolder(deps, params.folder, principal);
      if (folder.state !== 'READY') throw problem('gone', `${folder.name} is in state ${folder.state}`);
      const { operation, path, to } = body;
      mustHavePermissions(folder, NEEDS[operation] ?? []);
      if (path === undefined && NEEDS_PATH.has(operation)) throw invalid('/path', `to ${operation} needs a path`);
      if ((to === undefined) === (operation === 'move'))
        throw invalid('/to', 'a move needs it, and nothing else has it');
      if (path === undefined && operation === 'delete') mustOwnFolder(folder);
      const limits = WRITES.has(operation) ? await folders.byteLimits(folder.id) : [];
      return folderBytes.transfer(folder, { ...body, limits });
    },
    async getFolderUsage({ params }, { principal }) {
      const folder = await seeFolder(deps, params.folder, principal);
      const usage = await folderBytes.usage(folder);
      await folders.counted(folder.id, usage);
      return { folder: folder.name, ...usage };
    },
    /** What the caller sees is counted first, so the sums are of now. */
    async listFolderOwners(_input, { principal }) {
      const { items } = await folders.list({ limit: COUNTED_MAX }, principal);
      await Promise.all(items.map(async (folder) => folders.counted(folder.id, await folderBytes.usage(folder)))).catch(
        (error: unknown) => deps.log.warn({ err: error }, 'the last counts are shown'),
      );
      return { items: [...(await folders.owners(principal))] };
    },
  };
}

const volumeHandlers = ({ store: { folders }, options }: ApiDeps): Handlers<'listVolumes' | 'putVolume'> => ({
  async listVolumes() {
    const items = await folders.volumes();
    return { items: items.map((volume) => ({ ...volume, isServed: options.volumes.includes(volume.name) })) };
  },
  async putVolume({ params, body }) {
    const volume = found(await folders.putVolume(params.name, body.retentionSeconds), `volume ${params.name}`);
    return { ...volume, isServed: options.volumes.includes(volume.name) };
  },
});

export const folderHandlers = (deps: ApiDeps): Handlers<Ids> => ({
  ...registryHandlers(deps),
  ...lifeHandlers(deps),
  ...bytesHandlers(deps),
  ...volumeHandlers(deps),
});
