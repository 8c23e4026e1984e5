import type { Folder, OperationId, Principal } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';
import { found, invalid, notFound, problem } from '../problem.js';
import { mustOwnFolder } from '../rights.js';

type Ids = Extract<OperationId, 'createFolder' | 'listFolders' | 'getFolder' | 'deleteFolder' | 'createTransfer'>;

export function folderHandlers({ store: { folders }, folderBytes, options }: ApiDeps): Handlers<Ids> {
  const see = async (idOrName: string, principal: Principal): Promise<Folder> =>
    found(await folders.find(idOrName, principal), `folder ${idOrName}`);

  /** A folder that is PURGING already only has its bytes removed again: a first try may have been cut. */
  const markForRemoval = async ({ id, name, state }: Folder): Promise<void> => {
    if (state === 'PURGING') return;
    const outcome = await folders.remove(id);
    if (outcome === 'missing') throw notFound(`folder ${name}`);
    if (outcome !== 'ok') throw problem('conflict', `${name} is mounted by ${outcome.mountedBy.join(', ')}`);
  };

  return {
    async createFolder({ body }, { principal, resourceId }) {
      const { name, usage, project = null, volume = options.volumes[0] } = body;
      if (volume === undefined || !options.volumes.includes(volume)) {
        throw invalid('/volume', `the volumes are ${options.volumes.join(', ') || 'none'}`);
      }
      const made = await folders.create({ id: resourceId as Folder['id'], name, project, volume, usage }, principal);
      if (made === 'exists') throw problem('conflict', `there is a folder ${name} already`);
      if (made === 'no-project') throw notFound(`project ${project}`);
      return made;
    },
    listFolders: ({ query }, { principal }) => folders.list(query, principal) as never,
    getFolder: ({ params }, { principal }) => see(params.folder, principal),
    async deleteFolder({ params }, { principal }) {
      const folder = await see(params.folder, principal);
      mustOwnFolder(principal, folder);
      await markForRemoval(folder);
      await folderBytes.remove(folder);
      await folders.purged(folder.id);
    },
    async createTransfer({ params, body }, { principal }) {
      const folder = await see(params.folder, principal);
      if (folder.state !== 'READY') throw problem('gone', `${folder.name} is being removed`);
      if (body.path === undefined && (body.operation === 'read' || body.operation === 'write')) {
        throw invalid('/path', `to ${body.operation} needs the path of a file`);
      }
      if (body.path === undefined && body.operation === 'delete') mustOwnFolder(principal, folder);
      return folderBytes.transfer(folder, body);
    },
  };
}
