import type { Folder, OperationId } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';
import { notFound, problem } from '../problem.js';
import { overLimit, seeFolder } from './folders.js';

type Ids = Extract<
  OperationId,
  | 'giveFolder'
  | 'inviteToFolder'
  | 'listFolderInvitations'
  | 'revokeFolderInvitation'
  | 'listInvitations'
  | 'acceptInvitation'
  | 'declineInvitation'
>;

/** Whose folder it is, and who else may do what. Owners are checked before. */
export function folderSharingHandlers(deps: ApiDeps): Handlers<Ids> {
  const { folders } = deps.store;

  return {
    /** An admin gives at once; everybody else offers, and the new owner accepts: its quota bears the bytes. */
    async giveFolder({ params, body }, { principal, resourceId }) {
      const folder = await seeFolder(deps, params.folder, principal);
      const { user, project } = body;
      if (user !== undefined && principal.role === 'user') {
        const offer = { id: resourceId, folderId: folder.id, user, permissions: [], ownership: true, by: principal };
        if ((await folders.invite(offer)) === 'no-user') throw notFound(`user ${user}`);
        return folder;
      }
      const to = user === undefined ? { project: project ?? '', giver: principal } : { user };
      const given = await folders.give(folder.id, to);
      if (given === 'no-owner') throw notFound(user === undefined ? `project ${project}` : `user ${user}`);
      if (given === 'exists') throw problem('conflict', `the new owner has a folder ${folder.name} already`);
      if (given !== 'ok') throw overLimit(given);
      return (await folders.find(folder.id, principal)) ?? withoutRights(folder);
    },
    async inviteToFolder({ params, body }, { principal, resourceId }) {
      const { id: folderId } = await seeFolder(deps, params.folder, principal);
      const made = await folders.invite({ id: resourceId, folderId, ownership: false, by: principal, ...body });
      if (made === 'no-user') throw notFound(`user ${body.user}`);
      return made;
    },
    async listFolderInvitations({ params }, { principal }) {
      const { id } = await seeFolder(deps, params.folder, principal);
      return { items: [...(await folders.invitationsOf(id))] };
    },
    async revokeFolderInvitation({ params }, { principal }) {
      const { id } = await seeFolder(deps, params.folder, principal);
      if (!(await folders.revoke(id, params.user))) throw notFound(`invitation of ${params.user}`);
    },
    listInvitations: async (_input, { principal }) => ({ items: [...(await folders.invitationsFor(principal))] }),
    async acceptInvitation({ params }, { principal }) {
      const answered = await folders.answer(params.invitation, principal, 'ACCEPTED');
      if (answered === 'missing') throw notFound(`invitation ${params.invitation}`);
      if (answered === 'exists') throw problem('conflict', 'you have a folder of that name already');
      if ('limit' in answered) throw overLimit(answered);
      return seeFolder(deps, answered.folderId, principal);
    },
    async declineInvitation({ params }, { principal }) {
      const answered = await folders.answer(params.invitation, principal, 'DECLINED');
      if (answered === 'missing') throw notFound(`invitation ${params.invitation}`);
    },
  };
}

/** The giver may see it no more: it is told what became of it once. */
const withoutRights = (folder: Folder): Folder => ({ ...folder, permissions: [], mayManage: false });
