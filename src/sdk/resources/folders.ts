import type { BodyOf, CallOptions, QueryOf } from '../operations.js';
import { listOf } from '../pages.js';
import type { Transport } from '../transport.js';
import { folderFilesOf } from './folder-files.js';

export type { FileIn } from './folder-files.js';

/** `folder` is an id or a name. */
export const foldersOf = (transport: Transport) => ({
  create: (folder: BodyOf<'createFolder'>, options?: CallOptions) =>
    transport.call('createFolder', { body: folder }, options),
  list: (query: QueryOf<'listFolders'> = {}, options?: CallOptions) =>
    listOf((cursor) => {
      const at = cursor === undefined ? {} : { cursor };
      return transport.call('listFolders', { query: { ...query, ...at } }, options);
    }),
  get: (folder: string, options?: CallOptions) => transport.call('getFolder', { params: { folder } }, options),
  patch: (folder: string, change: BodyOf<'patchFolder'>, options?: CallOptions) =>
    transport.call('patchFolder', { params: { folder }, body: change }, options),
  /** At once, past the trash. */
  delete: (folder: string, options?: CallOptions) => transport.call('deleteFolder', { params: { folder } }, options),
  trash: (folder: string, options?: CallOptions) => transport.call('trashFolder', { params: { folder } }, options),
  restore: (folder: string, options?: CallOptions) => transport.call('restoreFolder', { params: { folder } }, options),
  purge: (folder: string, options?: CallOptions) => transport.call('purgeFolder', { params: { folder } }, options),
  /** READY, or CLONING while many bytes are copied. */
  clone: (folder: string, clone: BodyOf<'cloneFolder'>, options?: CallOptions) =>
    transport.call('cloneFolder', { params: { folder }, body: clone }, options),
  /** To a user, who has to accept, or to a project. */
  give: (folder: string, to: BodyOf<'giveFolder'>, options?: CallOptions) =>
    transport.call('giveFolder', { params: { folder }, body: to }, options),
  /** Counted now. */
  usage: (folder: string, options?: CallOptions) => transport.call('getFolderUsage', { params: { folder } }, options),
  owners: async (options?: CallOptions) => (await transport.call('listFolderOwners', {}, options)).items,

  invite: (folder: string, invitation: BodyOf<'inviteToFolder'>, options?: CallOptions) =>
    transport.call('inviteToFolder', { params: { folder }, body: invitation }, options),
  invitationsOf: async (folder: string, options?: CallOptions) =>
    (await transport.call('listFolderInvitations', { params: { folder } }, options)).items,
  revoke: (folder: string, user: string, options?: CallOptions) =>
    transport.call('revokeFolderInvitation', { params: { folder, user } }, options),
  /** Those that wait for the caller's answer. */
  invitations: async (options?: CallOptions) => (await transport.call('listInvitations', {}, options)).items,
  accept: (invitation: string, options?: CallOptions) =>
    transport.call('acceptInvitation', { params: { invitation } }, options),
  decline: (invitation: string, options?: CallOptions) =>
    transport.call('declineInvitation', { params: { invitation } }, options),

  volumes: async (options?: CallOptions) => (await transport.call('listVolumes', {}, options)).items,
  putVolume: (name: string, volume: BodyOf<'putVolume'>, options?: CallOptions) =>
    transport.call('putVolume', { params: { name }, body: volume }, options),

  ...folderFilesOf(transport),
});
