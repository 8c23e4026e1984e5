import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { LocalFile } from './local-tree.js';

/** Uploads that were cut: where each is at the storage, so that the same command goes on with it. */
export interface KeptUploads {
  readonly find: (file: LocalFile) => string | undefined;
  readonly keep: (file: LocalFile, url: string) => void;
  readonly forget: (file: LocalFile) => void;
}

export const uploadsDirectory = (env: NodeJS.ProcessEnv): string =>
  join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'berth', 'uploads');

/** Of the same file: its place, length and time are in the key, so a changed one begins anew. */
export function keptUploads(directory: string, folderId: string): KeptUploads {
  const at = ({ file, path, bytes, modifiedMs }: LocalFile): string => {
    const key = JSON.stringify([folderId, path, file, bytes, modifiedMs]);
    return join(directory, createHash('sha256').update(key).digest('hex').slice(0, 32));
  };
  return {
    find(file) {
      try {
        return readFileSync(at(file), 'utf8');
      } catch {
        return undefined;
      }
    },
    keep(file, url) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeFileSync(at(file), url, { mode: 0o600 });
    },
    forget: (file) => rmSync(at(file), { force: true }),
  };
}
