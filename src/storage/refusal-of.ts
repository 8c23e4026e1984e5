import { ProblemError, toProblem } from '../api/problem.js';
import type { Refusal } from '../contract/index.js';

/** What the file system says, in the words of the API. A link, or a file where a folder should be, leads out or nowhere. */
const BY_CODE: Readonly<Record<string, Refusal>> = {
  ENOENT: { code: 'not_found', detail: 'there is no such file' },
  ELOOP: { code: 'invalid_request', detail: 'a part of the path is a symbolic link' },
  ENOTDIR: { code: 'invalid_request', detail: 'a part of the path is not a folder' },
  EISDIR: { code: 'conflict', detail: 'it is a folder; to list it, add ?list=true' },
  EEXIST: { code: 'conflict', detail: 'there is something of that name' },
  EINVAL: { code: 'conflict', detail: 'it is not a regular file' },
  ENXIO: { code: 'conflict', detail: 'it is not a regular file' },
  ENOTEMPTY: { code: 'conflict', detail: 'somebody writes into it; try again', retryAfterSeconds: 1 },
  ENAMETOOLONG: { code: 'invalid_request', detail: 'a name in the path is too long' },
  EILSEQ: { code: 'invalid_request', detail: 'the file system cannot hold this name' },
  EACCES: { code: 'conflict', detail: 'its file mode does not let the storage proxy at it' },
  ENOSPC: { code: 'unavailable', detail: 'the volume is full', retryAfterSeconds: 60 },
  EDQUOT: { code: 'unavailable', detail: 'the volume is full', retryAfterSeconds: 60 },
  EFBIG: { code: 'unavailable', detail: 'the volume takes no file of this size', retryAfterSeconds: 60 },
  EMFILE: { code: 'unavailable', detail: 'too many transfers at once' },
};

/** Null for an error that nobody foresaw. */
export function refusalOfFile(error: unknown): Refusal | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return BY_CODE[code] ?? null;
}

export function refusalOfError(error: unknown): Refusal {
  if (error instanceof ProblemError) return error.refusal;
  const refusal = refusalOfFile(error);
  if (refusal !== null) return refusal;
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  if (status < 500) return { code: status === 404 ? 'not_found' : 'invalid_request', detail: (error as Error).message };
  return { code: 'internal', detail: 'the storage proxy failed; its log says more' };
}

/** As text, for answers that the framework does not write. */
export function refusalOf(error: unknown, requestId = ''): { readonly status: number; readonly body: string } {
  const body = toProblem(refusalOfError(error), requestId);
  return { status: body.status, body: JSON.stringify(body) };
}
