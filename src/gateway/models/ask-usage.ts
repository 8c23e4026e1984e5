import type { ScannedRequest } from './scan-request.js';

export interface Sent {
  readonly body: Buffer;
  /** The engine was asked for the usage of a stream whose client did not ask: that one event is taken out again. */
  readonly isUsageOurs: boolean;
}

const INSERTED = Buffer.from('"stream_options":{"include_usage":true},');

/**
 * An engine tells a stream's tokens only to who asks (`stream_options.include_usage`), so each is asked: the bytes are those
 * of the client but for that one option.
 */
export function askUsage(body: Buffer, { stream, streamOptions, inside }: ScannedRequest): Sent {
  if (!stream) return { body, isUsageOurs: false };
  if (streamOptions === null) {
    return { body: Buffer.concat([body.subarray(0, inside), INSERTED, body.subarray(inside)]), isUsageOurs: true };
  }
  const { start, end } = streamOptions;
  const options = objectOf(body.toString('utf8', start, end));
  if (options === undefined || options['include_usage'] === true) return { body, isUsageOurs: false };
  const asked = Buffer.from(JSON.stringify({ ...options, include_usage: true }));
  return { body: Buffer.concat([body.subarray(0, start), asked, body.subarray(end)]), isUsageOurs: true };
}

/** Undefined for what is neither an object nor null: the engine refuses it in its own words. */
function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (parsed === null) return {};
    return typeof parsed === 'object' && !Array.isArray(parsed) ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
