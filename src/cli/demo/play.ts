import type { DemoOptions } from './demo-options.js';
import { nothingInUse } from './expectations.js';
import { bringPeople, type People, type Person } from './people.js';
import type { SeenUse } from './sample.js';
import { checkGroup, Stage } from './stage.js';

/** Ends at once when it is asked to: as process 1, sleep would not hear SIGTERM. */
export const RUNS_UNTIL_STOPPED = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.1; done'];

export interface Play {
  readonly title: string;
  readonly persons: readonly Person[];
  /** READY nodes that it needs; one when unset. */
  readonly nodes?: number;
  /** Refuses a machine that it cannot play on. */
  readonly check: (capacity: SeenUse) => void;
  readonly act: (stage: Stage, people: People) => Promise<void>;
}

/** Checks, plays, and clears up whatever happened; then nothing may be in use. */
export async function perform(options: DemoOptions, play: Play): Promise<void> {
  options.say(play.title);
  play.check(await checkGroup(options, play.nodes ?? 1));
  const people = await bringPeople(options, play.persons);
  const stage = new Stage(options);
  try {
    await play.act(stage, people);
    await stage.clear();
    await stage.until('all have ended', [nothingInUse]);
    await stage.record('as expected');
    options.say('all as expected');
  } catch (error) {
    await stage.record('different', error instanceof Error ? error.message : String(error));
    await stage.clear().catch(() => options.say('not everything could be ended; look with: berth ps'));
    throw error;
  } finally {
    await people.leave();
  }
}
