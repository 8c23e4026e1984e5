import { formatBytes, formatSeconds } from '../format-amounts.js';
import type { Progress } from '../progress.js';

export interface TransferMeter {
  /** A part's bytes so far; a part that begins again counts from there. */
  readonly at: (part: string, doneBytes: number) => void;
  /** Bytes that were there already: neither sent nor in the rate. */
  readonly skip: (part: string, bytes: number) => void;
  readonly text: () => string;
}

interface Clock {
  readonly nowMs: () => number;
}

const WINDOW_MS = 5_000;
const TELL_EACH_MS = 250;

/** `12.5Mi of 1Gi · 85Mi/s · 12 s left`: the rate is of the last five seconds. */
export function createTransferMeter(
  total: { readonly bytes: number; readonly files: number },
  { nowMs }: Clock,
): TransferMeter {
  const parts = new Map<string, number>();
  const samples: { readonly atMs: number; readonly bytes: number }[] = [{ atMs: nowMs(), bytes: 0 }];
  let moved = 0;
  let skipped = 0;
  const rate = (): number => {
    const [first] = samples;
    const seconds = first === undefined ? 0 : (nowMs() - first.atMs) / 1000;
    return first === undefined || seconds <= 0 ? 0 : (moved - first.bytes) / seconds;
  };
  return {
    at(part, doneBytes) {
      moved += Math.max(0, doneBytes - (parts.get(part) ?? 0));
      parts.set(part, Math.max(doneBytes, parts.get(part) ?? 0));
      samples.push({ atMs: nowMs(), bytes: moved });
      while ((samples[1]?.atMs ?? nowMs()) < nowMs() - WINDOW_MS) samples.shift();
    },
    skip(part, bytes) {
      parts.set(part, bytes);
      skipped += bytes;
    },
    text() {
      const done = moved + skipped;
      const perSecond = rate();
      const left = perSecond > 0 ? ` · ${formatSeconds(Math.ceil((total.bytes - done) / perSecond))} left` : '';
      const files = total.files === 1 ? '' : `${total.files} files · `;
      return `${files}${formatBytes(done)} of ${formatBytes(total.bytes)} · ${formatBytes(Math.round(perSecond))}/s${left}`;
    },
  };
}

/** Tells a meter a few times a second, on a terminal only: a log needs no rates. */
export function showMeter(meter: TransferMeter, progress: Progress): { readonly end: () => void } {
  if (!process.stderr.isTTY) return { end: () => undefined };
  const timer = setInterval(() => progress.tell(meter.text()), TELL_EACH_MS);
  return {
    end() {
      clearInterval(timer);
      progress.end();
    },
  };
}
