import type { FolderInvitation, FolderOwnerUsage, Volume } from '../contract/index.js';
import { formatAge, formatBytes, formatSeconds } from './format-amounts.js';
import type { Shown } from './output.js';

export const INVITATION: Shown<FolderInvitation> = {
  none: 'no invitations',
  nameOf: ({ id }) => id,
  idOf: ({ id }) => id,
  columns: [
    { head: 'NAME', of: ({ folder }) => folder },
    { head: 'OWNER', of: ({ owner }) => owner },
    { head: 'USER', of: ({ user }) => user },
    { head: 'ALLOWS', of: ({ permissions, ownership }) => (ownership ? 'to own it' : permissions.join(',')) },
    { head: 'STATE', of: ({ state }) => state },
    { head: 'AGE', of: ({ createdAt }, now) => formatAge(createdAt, now) },
    { head: 'ID', of: ({ id }) => id },
  ],
};

const most = (limit: number | null, format: (amount: number) => string): string =>
  limit === null ? '-' : format(limit);

export const FOLDER_OWNER: Shown<FolderOwnerUsage> = {
  nameOf: ({ scope, name }) => `${scope}/${name}`,
  idOf: ({ scope, name }) => `${scope}/${name}`,
  columns: [
    { head: 'NAME', of: ({ scope, name }) => `${scope}/${name}` },
    { head: 'FOLDERS', of: ({ folders }) => `${folders.used}/${most(folders.limit, String)}` },
    { head: 'BYTES', of: ({ bytes }) => `${formatBytes(bytes.used)}/${most(bytes.limit, formatBytes)}` },
  ],
};

export const VOLUME: Shown<Volume> = {
  nameOf: ({ name }) => name,
  idOf: ({ name }) => name,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'FOLDERS', of: ({ folders }) => String(folders) },
    { head: 'TRASH KEEPS', of: ({ retentionSeconds }) => formatSeconds(retentionSeconds) },
    { head: 'SERVED', of: ({ isServed }) => (isServed ? 'yes' : 'no') },
  ],
};
