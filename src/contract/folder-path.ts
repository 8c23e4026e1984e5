import { z } from 'zod';

/** Bytes of one name: what every Linux file system holds. */
const NAME_BYTES_MAX = 255;
const PATH_CHARACTERS_MAX = 1024;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
/** Control characters, what turns the direction of writing, what has no width, halves of surrogate pairs. */
const UNSEEN = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;
/** `%2e`, `%2f`, `%5c`, `%00` and, twice encoded, `%252e`: decoded once more by anybody, they would climb. */
const ENCODED = /%(25)*(2e|2f|5c|00)/i;

/** What is wrong with one name; null: nothing. The first rule that it breaks is told. */
export function nameProblem(name: string): string | null {
  if (name === '') return 'no empty part';
  if (name === '.' || name === '..') return 'no . and no ..';
  if (name.includes('/')) return 'a name has no /';
  if (name.includes('\\')) return 'no backslash';
  if (UNSEEN.test(name)) return 'no control characters, and none that cannot be seen';
  if (ENCODED.test(name)) return 'no percent-encoded dot, slash, backslash or NUL: send the name itself';
  if (name !== name.normalize('NFC')) return 'written in Unicode NFC, so that one name has one form';
  const plain = name.normalize('NFKC');
  if (plain === '.' || plain === '..' || /[/\\]/.test(plain)) return 'no letters that stand for . or /';
  return bytesOf(name) > NAME_BYTES_MAX ? `at most ${NAME_BYTES_MAX} bytes a part` : null;
}

/** What is wrong with a path; null: nothing. */
export function pathProblem(path: string): string | null {
  if (path.startsWith('/')) return 'relative to the folder, so it does not start with /';
  if (path.length > PATH_CHARACTERS_MAX) return `at most ${PATH_CHARACTERS_MAX} characters`;
  for (const part of path.split('/')) {
    const problem = nameProblem(part);
    if (problem !== null) return problem;
  }
  return null;
}

/** Two names that differ only so are one name on file systems that fold case, and one to most eyes. */
export const foldedName = (name: string): string => name.normalize('NFKC').toLowerCase().normalize('NFC');

/** A path inside a folder: relative, `/` between parts, no `.` or `..`, NFC, nothing unseen, at most 255 bytes a part. */
export const folderPathSchema = z
  .string()
  .min(1)
  .max(PATH_CHARACTERS_MAX)
  .superRefine((path, context) => {
    const message = pathProblem(path);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
