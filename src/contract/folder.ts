import { z } from 'zod';
import { folderIdSchema, nameSchema, timestampSchema } from './ids.js';

/** A path inside a folder: relative, `/` between parts, no empty part, no `.` or `..`, no NUL, at most 255 bytes a part. */
export const folderPathSchema = z
  .string()
  .min(1)
  .max(1024)
  .refine((path) => !path.startsWith('/'), 'relative to the folder, so it does not start with /')
  .refine(
    (path) => path.split('/').every((part) => part !== '' && part !== '.' && part !== '..'),
    'no empty part, no . and no ..',
  )
  .refine((path) => !/[\0-\x1f\\]/.test(path), 'no control characters and no backslash')
  .refine(
    (path) => path.split('/').every((part) => new TextEncoder().encode(part).length <= 255),
    'at most 255 bytes a part',
  );

export const folderSchema = z
  .object({
    id: folderIdSchema,
    name: nameSchema,
    project: z.string(),
    owner: z.string(),
    volume: z.string(),
    usage: z.enum(['general', 'model', 'data']),
    state: z.enum(['READY', 'PURGING']),
    createdAt: timestampSchema,
  })
  .meta({ id: 'Folder' });
export type Folder = z.infer<typeof folderSchema>;

export const createFolderSchema = z
  .strictObject({
    name: nameSchema,
    project: z.string().max(130).optional(),
    volume: nameSchema.optional().describe("the API's first volume when omitted"),
    usage: z.enum(['general', 'model', 'data']).default('general'),
  })
  .meta({ id: 'CreateFolder' });

export const STORAGE_OPERATIONS = ['read', 'write', 'list', 'delete'] as const;
export type StorageOperation = (typeof STORAGE_OPERATIONS)[number];

export const createTransferSchema = z
  .strictObject({
    operation: z.enum(STORAGE_OPERATIONS),
    path: folderPathSchema.optional().describe('omitted: the folder itself (list, delete)'),
    maxBytes: z
      .int()
      .min(0)
      .max(2 ** 50)
      .optional()
      .describe('largest upload; 1 TiB when omitted'),
  })
  .meta({ id: 'CreateTransfer' });
export const transferSchema = z
  .object({
    url: z.string().describe('of the storage proxy, with the path; the token goes into the Authorization header'),
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
  jti: z.string(),
});
export type StorageClaims = z.infer<typeof storageClaimsSchema>;

export const folderEntrySchema = z
  .object({ path: z.string(), type: z.enum(['file', 'directory']), bytes: z.int(), modifiedAt: timestampSchema })
  .meta({ id: 'FolderEntry' });
export const uploadedSchema = z
  .object({ path: z.string(), bytes: z.int(), sha256: z.string() })
  .meta({ id: 'Uploaded' });
