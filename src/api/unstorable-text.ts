const DEPTH_MAX = 64;
const NAUGHTY = /\0|\p{Cs}/u;

export interface Unstorable {
  readonly path: readonly string[];
  readonly message: string;
}

/**
 * What no column of text holds: NUL and half surrogate pairs, in keys and in values; and nesting that no schema of ours
 * has. Null when there is none. Iterative, since the depth is the caller's choice.
 */
export function unstorableText(root: unknown): Unstorable | null {
  const open: { readonly path: readonly string[]; readonly value: unknown }[] = [{ path: [], value: root }];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { path, value } = item;
    if (path.length > DEPTH_MAX) return { path: [], message: `nested deeper than ${DEPTH_MAX}` };
    if (typeof value === 'string' && NAUGHTY.test(value))
      return { path, message: 'no NUL and no half of a surrogate pair' };
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      if (NAUGHTY.test(key)) return { path, message: 'a key has NUL or half of a surrogate pair in it' };
      open.push({ path: [...path, key], value: child });
    }
  }
  return null;
}
