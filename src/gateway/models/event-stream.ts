import { type Tokens, tokensIn } from './token-usage.js';

const USAGE = Buffer.from('"usage"');
const NO_USAGE = /"usage"\s*:\s*null/;
const NO_CHOICES = /"choices"\s*:\s*\[\s*\]/;
const LF = 0x0a;
/** A longer event is passed on in parts. */
const HELD_MAX = 1 << 20;

/**
 * Server-sent events on their way to a client, passed on as whole events: what follows, be it the gateway's own error
 * event, always begins a new one. Reads the tokens; takes the usage event out where only the gateway asked for it.
 */
export class EventStream {
  readonly #isUsageOurs: boolean;
  #held: Buffer | null = null;
  #told: Tokens | null = null;
  #events = 0;

  constructor(isUsageOurs: boolean) {
    this.#isUsageOurs = isUsageOurs;
  }

  /** What to pass on now; null for nothing yet. */
  push(part: Buffer): Buffer | null {
    const data = this.#held === null ? part : Buffer.concat([this.#held, part]);
    this.#held = null;
    const end = lastEnd(data);
    if (end < data.length) {
      if (data.length - end > HELD_MAX) return data;
      this.#held = data.subarray(end);
      if (end === 0) return null;
    }
    const whole = end === data.length ? data : data.subarray(0, end);
    if (whole.includes(USAGE)) return this.#readUsage(whole);
    this.#count(whole);
    return whole;
  }

  /** What is left when the engine has ended the stream well. */
  end(): Buffer | null {
    const left = this.#held;
    this.#held = null;
    return left;
  }

  /** As the engine told them; of a stream that was cut before, one token for each event that came through. */
  get tokens(): Tokens {
    return this.#told ?? { prompt: 0, completion: this.#events };
  }

  #readUsage(whole: Buffer): Buffer | null {
    const kept: Buffer[] = [];
    for (let start = 0; start < whole.length; ) {
      const end = firstEnd(whole, start);
      const event = whole.subarray(start, end);
      start = end;
      if (!this.#isOnlyUsage(event)) kept.push(event);
    }
    return kept.length === 0 ? null : kept.length === 1 ? (kept[0] ?? null) : Buffer.concat(kept);
  }

  #isOnlyUsage(event: Buffer): boolean {
    this.#events += 1;
    if (!event.includes(USAGE)) return false;
    const text = event.toString('latin1');
    if (NO_USAGE.test(text)) return false;
    this.#told = tokensIn(event) ?? this.#told;
    return this.#isUsageOurs && NO_CHOICES.test(text);
  }

  #count(whole: Buffer): void {
    for (let start = 0; start < whole.length; start = firstEnd(whole, start)) this.#events += 1;
  }
}

/** Behind the last blank line; 0 where there is none. */
function lastEnd(data: Buffer): number {
  const { length } = data;
  if (length >= 2 && data[length - 1] === LF && data[length - 2] === LF) return length;
  const plain = data.lastIndexOf('\n\n');
  const dos = data.lastIndexOf('\r\n\r\n');
  return Math.max(plain === -1 ? 0 : plain + 2, dos === -1 ? 0 : dos + 4);
}

/** Behind the first blank line from `start`; the end of the data where there is none. */
function firstEnd(data: Buffer, start: number): number {
  const plain = data.indexOf('\n\n', start);
  const near = plain === -1 ? data.length : plain + 2;
  const dos = data.subarray(start, near).indexOf('\r\n\r\n');
  return dos === -1 ? near : start + dos + 4;
}
