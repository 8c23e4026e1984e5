/** What the gateway has to know of a request's JSON; the bytes go on as they came. */
export interface ScannedRequest {
  /** Null where there is none, or no string. */
  readonly model: string | null;
  readonly stream: boolean;
  /** Where the value of `stream_options` stands in the bytes. */
  readonly streamOptions: Span | null;
  /** Of the byte behind the opening brace. */
  readonly inside: number;
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** Shorter strings are found quicker byte by byte than by a call. */
const SHORT = 32;

/**
 * Reads the outermost object alone, without building it: time and memory do not follow the size of prompts. Of a name that
 * stands twice the last one counts, as in `JSON.parse`. Null where it is no JSON object; what is wrong deeper is the
 * engine's to refuse.
 */
export function scanRequest(bytes: Buffer): ScannedRequest | null {
  let at = afterSpace(bytes, 0);
  if (bytes[at] !== OPEN_BRACE) return null;
  const inside = at + 1;
  let model: string | null = null;
  let stream = false;
  let streamOptions: Span | null = null;
  at = afterSpace(bytes, inside);
  if (bytes[at] === CLOSE_BRACE) return endsAt(bytes, at + 1) ? { model, stream, streamOptions, inside } : null;
  for (;;) {
    const keyEnd = bytes[at] === QUOTE ? stringEnd(bytes, at) : -1;
    if (keyEnd === -1) return null;
    const colon = afterSpace(bytes, keyEnd);
    if (bytes[colon] !== COLON) return null;
    const start = afterSpace(bytes, colon + 1);
    const end = valueEnd(bytes, start);
    if (end === -1 || end === start) return null;
    const name = interesting(bytes, at, keyEnd);
    if (name === 'model') model = bytes[start] === QUOTE ? textOf(bytes, start, end) : null;
    else if (name === 'stream')
      stream = bytes[start] === 0x74; // t of true
    else if (name === 'stream_options') streamOptions = { start, end };
    at = afterSpace(bytes, end);
    if (bytes[at] === CLOSE_BRACE) return endsAt(bytes, at + 1) ? { model, stream, streamOptions, inside } : null;
    if (bytes[at] !== COMMA) return null;
    at = afterSpace(bytes, at + 1);
  }
}

/** The name of a member, where its length is that of one that matters, or escapes may hide one; '' for any other. */
function interesting(bytes: Buffer, start: number, end: number): string {
  const length = end - start - 2;
  if (length !== 5 && length !== 6 && length !== 14 && !hasEscape(bytes, start, end)) return '';
  return textOf(bytes, start, end) ?? '';
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

function textOf(bytes: Buffer, start: number, end: number): string | null {
  const text = bytes.toString('utf8', start + 1, end - 1);
  if (!text.includes('\\')) return text;
  try {
    const parsed: unknown = JSON.parse(`"${text}"`);
    return typeof parsed === 'string' ? parsed : null;
  } catch {
    return null;
  }
}

function afterSpace(bytes: Buffer, from: number): number {
  let at = from;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return at;
}

const endsAt = (bytes: Buffer, at: number): boolean => afterSpace(bytes, at) === bytes.length;

/** Behind the closing quote of the string that opens at `start`; -1 where it does not close. */
function stringEnd(bytes: Buffer, start: number): number {
  const near = Math.min(bytes.length, start + SHORT);
  let at = start + 1;
  for (; at < near; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at += 1;
  }
  for (let quote = bytes.indexOf(QUOTE, at); quote !== -1; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let slashes = 0;
    while (quote - 1 - slashes >= at && bytes[quote - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
  }
  return -1;
}

function valueEnd(bytes: Buffer, start: number): number {
  const first = bytes[start] ?? 0;
  if (first === QUOTE) return stringEnd(bytes, start);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return literalEnd(bytes, start);
  let depth = 0;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      const end = stringEnd(bytes, at);
      if (end === -1) return -1;
      at = end - 1;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

function literalEnd(bytes: Buffer, start: number): number {
  let at = start;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const isPart = byte === 0x2b || byte === 0x2d || byte === 0x2e || (byte >= 0x30 && byte <= 0x39) || byte >= 0x41;
    if (!isPart || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) break;
  }
  return at;
}
