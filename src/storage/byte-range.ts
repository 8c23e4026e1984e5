export type ByteRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly first: number; readonly last: number }
  | { readonly kind: 'unsatisfiable' };

const WHOLE: ByteRange = { kind: 'whole' };
const SINGLE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** One range of RFC 9110. Several at once, and what does not parse, get the whole file, as that RFC allows. */
export function byteRange(header: string | undefined, size: number): ByteRange {
  const match = SINGLE.exec(header ?? '');
  const [, from = '', to = ''] = match ?? [];
  if (match === null || (from === '' && to === '')) return WHOLE;
  if (from === '') return suffix(Number(to), size);
  const first = Number(from);
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (first >= size) return { kind: 'unsatisfiable' };
  return to !== '' && Number(to) < first ? WHOLE : { kind: 'part', first, last };
}

function suffix(length: number, size: number): ByteRange {
  if (length === 0 || size === 0) return { kind: 'unsatisfiable' };
  return { kind: 'part', first: Math.max(0, size - length), last: size - 1 };
}
