import type { SessionEvent } from '../../contract/index.js';

/** One line a state: when it came, how long it lasted, why it came. Milliseconds under ten seconds. */
export function timelineText(events: readonly SessionEvent[]): string {
  const states = events.filter(({ kind }) => kind === 'state');
  return states
    .map((event, index) => {
      const next = states[index + 1];
      const lasted = next === undefined ? '' : duration(Date.parse(next.at) - Date.parse(event.at));
      return `   ${event.at}  ${(event.to ?? '').padEnd(11)} ${lasted.padStart(8)}  ${event.message || event.cause}`.trimEnd();
    })
    .join('\n');
}

const duration = (milliseconds: number): string =>
  milliseconds < 10_000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
