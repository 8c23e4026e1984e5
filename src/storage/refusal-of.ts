import type { Refusal } from '../contract/index.js';

/** What the file system says, in the words of the API. A link, or a file where a folder should be, leads out or nowhere. */
const BY_CODE: Readonly<Record<string, Refusal>> = {
  ENOENT: { code: 'not_found', detail: 'there is no such file' },
  ELOOP: { code: 'invalid_request', detail: 'a part of the path is a symbolic link' },
  ENOTDIR: { code: 'invalid_request', detail: 'a part of the path is not a folder' },
  EISDIR: { code: 'conflict', detail: 'it is a folder; to list it, add ?list=true' },
  EINVAL: { code: 'conflict', detail: 'it is not a regular file' },
  ENXIO: { code: 'conflict', detail: 'it is not a regular file' },
  ENOTEMPTY: { code: 'conflict', detail: 'somebody writes into it; try again', retryAfterSeconds: 1 },
  ENAMETOOLONG: { code: 'invalid_request', detail: 'a name in the path is too long' },
  EILSEQ: { code: 'invalid_request', detail: 'the file system cannot hold this name' },
  EACCES: { code: 'conflict', detail: 'its file mode does not let the storage proxy at it' },
  ENOSPC: { code: 'unavailable', detail: 'the volume is full', retryAfterSeconds: 60 },
  EDQUOT: { code: 'unavailable', detail: 'the volume is full', retryAfterSeconds: 60 },
  EMFILE: { code: 'unavailable', detail: 'too many transfers at once' },
};

/** Null for an error that nobody foresaw. */
export function refusalOfFile(error: unknown): Refusal | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return BY_CODE[code] ?? null;
}
