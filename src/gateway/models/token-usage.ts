/** Tokens of one answer. */
export interface Tokens {
  readonly prompt: number;
  readonly completion: number;
}

const KEY = '"usage"';
/** An engine's usage object with all its details is some hundred bytes. */
const SPAN = 2_048;
const PROMPT = /"prompt_tokens"\s*:\s*(\d{1,15})/;
const COMPLETION = /"completion_tokens"\s*:\s*(\d{1,15})/;

/**
 * The last `usage` in an answer's bytes; null where there is none. Inside a string the quotes would be escaped, so what is
 * found is a member's name.
 */
export function tokensIn(bytes: Buffer): Tokens | null {
  const at = bytes.lastIndexOf(KEY);
  if (at === -1) return null;
  const text = bytes.toString('latin1', at, at + SPAN);
  const prompt = PROMPT.exec(text)?.[1];
  const completion = COMPLETION.exec(text)?.[1];
  if (prompt === undefined && completion === undefined) return null;
  return { prompt: Number(prompt ?? 0), completion: Number(completion ?? 0) };
}

/** The same in an answer that passes by in parts. */
export class PassingUsage {
  #tail: Buffer = Buffer.alloc(0);

  pass(part: Buffer): void {
    this.#tail =
      part.length >= SPAN ? part.subarray(part.length - SPAN) : Buffer.concat([this.#tail, part]).subarray(-SPAN);
  }

  get tokens(): Tokens | null {
    return tokensIn(this.#tail);
  }
}
