import type { Session } from '../contract/index.js';
import { hasEnded } from '../lifecycle/milestones.js';
import type { Client } from '../sdk/index.js';
import { ExitWith } from './cli-error.js';
import { type CommandContext, Interrupted } from './command-context.js';
import { followSession } from './follow.js';
import { exitCodeOfSession } from './session-exit.js';

export interface Attached {
  readonly session: Session;
  /** Exit with 75 when it is preempted and goes back to the queue; else it is followed through all its attempts. */
  readonly endsWhenRequeued: boolean;
}

/** Follows a session to its end, then exits with its code. Ctrl-C detaches; a second one asks it to stop. */
export async function exitWhenEnded(context: CommandContext, client: Client, attached: Attached): Promise<never> {
  const { session, endsWhenRequeued } = attached;
  const controller = new AbortController();
  const interrupt = (): void => controller.abort(new Interrupted());
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  try {
    const { signal } = controller;
    const last = await followSession({ client, session: session.id, signal, endsWhenRequeued });
    if (context.out.isData) await context.out.data(last);
    const code = exitCodeOfSession(last);
    if (code !== 0) context.out.say(endText(last));
    throw new ExitWith(code);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    return await detach(context, client, session);
  } finally {
    process.removeListener('SIGINT', interrupt);
    process.removeListener('SIGTERM', interrupt);
  }
}

const STOP_WINDOW_SECONDS = 2;

/** The session goes on. A second Ctrl-C within two seconds asks it to stop. */
async function detach({ out }: CommandContext, client: Client, session: Session): Promise<never> {
  out.say(`\ndetached: ${session.name} goes on`);
  out.say(`  follow: berth logs -f ${session.name}    wait: berth wait ${session.name}`);
  out.say(`  stop:   berth stop ${session.name}       (or Ctrl-C again now)`);
  const isStopWanted = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), process.stdin.isTTY ? STOP_WINDOW_SECONDS * 1000 : 0);
    process.once('SIGINT', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
  if (isStopWanted) {
    await client.sessions.stop(session.id, { reason: 'Ctrl-C twice' });
    out.say(`asked ${session.name} to stop`);
  }
  throw new ExitWith(130);
}

/** `error: failure · bad-command · …`; of one that waits again, that it goes on, and how to see it. */
export function endText({ name, state, result, cause, exitCode, message, attempt }: Session): string {
  if (!hasEnded({ state })) {
    return `${state.toLowerCase()}: preempted after attempt ${attempt}, and back in the queue\n  follow: berth wait ${name}    why: berth why ${name}`;
  }
  const parts = [`${state.toLowerCase()}: ${result}`, cause ?? '', exitCode === null ? '' : `exit code ${exitCode}`];
  return [...parts, message ?? ''].filter((part) => part !== '').join(' · ');
}
