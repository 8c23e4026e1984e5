import { z } from 'zod';
import { createFolderSchema, createTransferSchema, folderSchema, transferSchema } from './folder.js';
import { pageOf, pageQuerySchema } from './page.js';
import { dryRunQuery, type Route } from './route.js';

const folder = z.object({ folder: z.string().min(1).max(130).describe("the folder's id, or its name") });

export const FOLDER_ROUTES = {
  createFolder: {
    method: 'POST',
    path: '/v1/folders',
    access: 'user',
    tag: 'folders',
    summary: 'Create a folder',
    query: dryRunQuery,
    body: createFolderSchema,
    status: 201,
    answer: folderSchema,
    idempotent: true,
  },
  listFolders: {
    method: 'GET',
    path: '/v1/folders',
    access: 'user',
    tag: 'folders',
    summary: 'Folders you may see',
    query: pageQuerySchema,
    status: 200,
    answer: pageOf(folderSchema, 'FolderPage'),
  },
  getFolder: {
    method: 'GET',
    path: '/v1/folders/:folder',
    access: 'user',
    tag: 'folders',
    summary: 'One folder',
    params: folder,
    status: 200,
    answer: folderSchema,
  },
  deleteFolder: {
    method: 'DELETE',
    path: '/v1/folders/:folder',
    access: 'user',
    tag: 'folders',
    summary: 'Delete a folder that no session has mounted',
    params: folder,
    status: 204,
    answer: 'nothing',
  },
  createTransfer: {
    method: 'POST',
    path: '/v1/folders/:folder/transfers',
    access: 'user',
    tag: 'folders',
    summary: 'A short-lived token for the storage proxy',
    params: folder,
    body: createTransferSchema,
    status: 201,
    answer: transferSchema,
  },
} as const satisfies Record<string, Route>;
