/** One part of a JSON pointer (RFC 6901). */
export const escapePointer = (part: string): string => part.replaceAll('~', '~0').replaceAll('/', '~1');

export const toPointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${escapePointer(String(part))}`).join('');
