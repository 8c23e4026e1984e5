import { z } from 'zod';
import { folderPathSchema } from './folder-path.js';
import { folderIdSchema, nameSchema, timestampSchema, userNameSchema } from './ids.js';

export const FOLDER_USAGES = ['general', 'model', 'data'] as const;
export const FOLDER_PERMISSIONS = ['read', 'write', 'delete'] as const;
export type FolderPermission = (typeof FOLDER_PERMISSIONS)[number];
/** CLONING: its bytes are still being copied. TRASH: kept for the volume's retention. PURGING: its bytes are being removed. */
export const FOLDER_STATES = ['CLONING', 'READY', 'TRASH', 'PURGING'] as const;

const permissions = z.array(z.enum(FOLDER_PERMISSIONS)).max(3);
const PERMISSIONS_HELP =
  'read: list and download; write: upload, make folders; delete: remove; moving needs write and delete';

export const folderSchema = z
  .object({
    id: folderIdSchema,
    name: nameSchema,
    project: z.string().describe('the project it was made in'),
    owner: z.string().describe('who made it, or whom it was given to'),
    ownedBy: z.enum(['user', 'project']).describe('whose quota it counts against, and who decides about it'),
    volume: z.string(),
    usage: z.enum(FOLDER_USAGES),
    state: z.enum(FOLDER_STATES),
    memberPermissions: z.array(z.enum(FOLDER_PERMISSIONS)).describe('of the members of its project'),
    permissions: z.array(z.enum(FOLDER_PERMISSIONS)).describe('of the caller'),
    mayManage: z.boolean().describe('the caller shares it, gives it away, and moves it to the trash'),
    bytes: z.int().nullable().describe('at the last count; null before the first'),
    files: z.int().nullable(),
    countedAt: timestampSchema.nullable(),
    trashedAt: timestampSchema.nullable(),
    purgeAt: timestampSchema.nullable().describe('when the trash is emptied of it'),
    createdAt: timestampSchema,
  })
  .meta({ id: 'Folder' });
export type Folder = z.infer<typeof folderSchema>;

export const createFolderSchema = z
  .strictObject({
    name: nameSchema,
    project: z.string().max(130).optional(),
    ownedBy: z.enum(['user', 'project']).default('user'),
    volume: nameSchema.optional().describe("the API's first volume when omitted"),
    usage: z.enum(FOLDER_USAGES).default('general'),
    memberPermissions: permissions
      .optional()
      .describe(
        `of its project's members; all for a project's folder when omitted, none for a user's. ${PERMISSIONS_HELP}`,
      ),
  })
  .meta({ id: 'CreateFolder' });
export const patchFolderSchema = z
  .strictObject({
    name: nameSchema.optional(),
    usage: z.enum(FOLDER_USAGES).optional(),
    memberPermissions: permissions.optional(),
  })
  .meta({ id: 'PatchFolder' });
export const cloneFolderSchema = z
  .strictObject({
    name: nameSchema,
    project: z.string().max(130).optional(),
    ownedBy: z.enum(['user', 'project']).default('user'),
    usage: z.enum(FOLDER_USAGES).optional(),
  })
  .meta({ id: 'CloneFolder' });
export const giveFolderSchema = z
  .strictObject({
    user: userNameSchema.optional().describe('has to accept, unless an admin gives it'),
    project: z.string().max(130).optional().describe('one that the caller is in'),
  })
  .refine(({ user, project }) => (user === undefined) !== (project === undefined), 'name a user or a project')
  .meta({ id: 'GiveFolder' });

export const INVITATION_STATES = ['PENDING', 'ACCEPTED'] as const;
export const folderInvitationSchema = z
  .object({
    id: z.string(),
    folderId: folderIdSchema,
    folder: z.string(),
    owner: z.string(),
    user: z.string(),
    permissions: z.array(z.enum(FOLDER_PERMISSIONS)),
    ownership: z.boolean().describe('to accept is to own it'),
    state: z.enum(INVITATION_STATES),
    invitedBy: z.string(),
    createdAt: timestampSchema,
  })
  .meta({ id: 'FolderInvitation' });
export type FolderInvitation = z.infer<typeof folderInvitationSchema>;
export const inviteSchema = z
  .strictObject({ user: userNameSchema, permissions: permissions.default(['read']).describe(PERMISSIONS_HELP) })
  .meta({ id: 'InviteToFolder' });

/** Counted by the storage proxy, file by file; uploads under way hold what they announced. */
export const folderUsageSchema = z
  .object({
    folder: z.string(),
    bytes: z.int(),
    files: z.int(),
    directories: z.int(),
    reservedBytes: z.int().describe('of uploads that have not ended'),
    countedAt: timestampSchema,
  })
  .meta({ id: 'FolderUsage' });
export type FolderUsage = z.infer<typeof folderUsageSchema>;

const ownerUse = z.object({ used: z.int(), limit: z.int().nullable() });
export const ownerUsageSchema = z
  .object({
    scope: z.enum(['user', 'project', 'domain']),
    name: z.string(),
    folders: ownerUse.describe('those in the trash too'),
    bytes: ownerUse,
  })
  .meta({ id: 'FolderOwnerUsage' });
export type FolderOwnerUsage = z.infer<typeof ownerUsageSchema>;

export const volumeSchema = z
  .object({
    name: z.string(),
    retentionSeconds: z.int().describe('how long the trash keeps a folder'),
    folders: z.int(),
    isServed: z.boolean().describe('folders can be made on it'),
  })
  .meta({ id: 'Volume' });
export type Volume = z.infer<typeof volumeSchema>;
export const putVolumeSchema = z
  .strictObject({ retentionSeconds: z.int().min(0).max(31_536_000) })
  .meta({ id: 'PutVolume' });

export const TRANSFER_OPERATIONS = ['read', 'write', 'list', 'delete', 'unpack', 'mkdir', 'move'] as const;
/** `usage`, `admit` and `clone` are between the API and the proxy. */
export const STORAGE_OPERATIONS = [...TRANSFER_OPERATIONS, 'usage', 'admit', 'clone'] as const;
export type StorageOperation = (typeof STORAGE_OPERATIONS)[number];

const LARGEST_BYTES = 2 ** 50;
export const createTransferSchema = z
  .strictObject({
    operation: z.enum(TRANSFER_OPERATIONS),
    path: folderPathSchema.optional().describe('omitted: the folder itself (read, list, delete, unpack)'),
    to: folderPathSchema.optional().describe('of a move'),
    maxBytes: z.int().min(0).max(LARGEST_BYTES).optional().describe('largest upload; 1 TiB when omitted'),
    resume: z.boolean().optional().describe('for an upload that was begun: it may not begin another'),
  })
  .meta({ id: 'CreateTransfer' });
export const transferSchema = z
  .object({
    url: z.string().describe('of the storage proxy, with the path; the token goes into the Authorization header'),
    uploadUrl: z.string().describe('where tus 1.0 uploads are made, under the same token'),
    token: z.string(),
    expiresAt: timestampSchema,
  })
  .meta({ id: 'Transfer' });

/** What a storage token says (audience `storage`, ES256). */
export const storageClaimsSchema = z.object({
  volume: nameSchema,
  folderId: folderIdSchema,
  path: z.string().max(1024),
  operation: z.enum(STORAGE_OPERATIONS),
  maxBytes: z.int(),
  /** Of a move, its target; of a clone, the id of the new folder. */
  to: z.string().max(1024).optional(),
  resume: z.boolean().optional(),
  /** The proxy was asked before and keeps room for it, under this token's id. */
  admitted: z.boolean().optional(),
  jti: z.string().max(256),
});
export type StorageClaims = z.infer<typeof storageClaimsSchema>;

/** What the API tells the proxy before it signs a token for writing: whose bytes count together, and up to where. */
export const storageAdmissionSchema = z.strictObject({
  jti: z.string().max(256),
  expiresAtSeconds: z.int(),
  folderId: folderIdSchema,
  /** Null: of unknown length, counted as it comes. */
  bytes: z.int().nullable(),
  limits: z
    .array(
      z.strictObject({
        name: z.string(),
        limitBytes: z.int(),
        folders: z.array(z.strictObject({ volume: z.string(), folderId: folderIdSchema })),
      }),
    )
    .max(3),
});
export type StorageAdmission = z.infer<typeof storageAdmissionSchema>;

export const folderEntrySchema = z
  .object({ path: z.string(), type: z.enum(['file', 'directory']), bytes: z.int(), modifiedAt: timestampSchema })
  .meta({ id: 'FolderEntry' });
export type FolderEntry = z.infer<typeof folderEntrySchema>;
export const uploadedSchema = z
  .object({ path: z.string(), bytes: z.int(), sha256: z.string() })
  .meta({ id: 'Uploaded' });
export const treeSumSchema = z
  .object({
    /** SHA-256 over one line a file, `<sha256>  <path>\n`, by path: what `sha256sum` prints. */
    sha256: z.string(),
    files: z.int(),
    bytes: z.int(),
    items: z.array(uploadedSchema).optional(),
  })
  .meta({ id: 'TreeSum' });
export type TreeSum = z.infer<typeof treeSumSchema>;
