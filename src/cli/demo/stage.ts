import { writeFile } from 'node:fs/promises';
import type { CreateSessionInput, Session } from '../../contract/index.js';
import type { Client } from '../../sdk/index.js';
import { CliError, usageError } from '../cli-error.js';
import { formatCpu } from '../format-amounts.js';
import type { DemoOptions } from './demo-options.js';
import { differences } from './expectations.js';
import type { Expectation, Sample, SeenSession, SeenUse } from './sample.js';

const LOOK_MILLISECONDS = 250;
const STEP_SECONDS_MAX = 60;

export interface Actor {
  /** How the demonstration calls the session. */
  readonly label: string;
  readonly client: Client;
  readonly spec: Omit<CreateSessionInput, 'image' | 'group' | 'name'>;
}

/** Where a demonstration plays: it submits, ends and looks, and keeps each look for `--record`. */
export class Stage {
  readonly #options: DemoOptions;
  readonly #sessions = new Map<string, { readonly id: string; readonly client: Client }>();
  readonly #samples: Sample[] = [];
  readonly #notes: Record<string, unknown> = {};
  readonly #started = performance.now();
  #step = '';

  constructor(options: DemoOptions) {
    this.#options = options;
  }

  async submit({ label, client, spec }: Actor): Promise<Session> {
    const { image, group, signal } = this.#options;
    const session = await client.sessions.create({ ...spec, name: label, image, group }, { signal });
    this.#sessions.set(label, { id: session.id, client });
    return session;
  }

  async end(label: string): Promise<void> {
    const { id, client } = this.#find(label);
    await client.sessions.stop(id, { reason: 'the demonstration goes on' });
  }

  history(label: string) {
    const { id, client } = this.#find(label);
    return client.sessions.history(id).toArray();
  }

  /** Kept beside the samples in the recording. */
  note(name: string, value: unknown): void {
    this.#notes[name] = value;
  }

  /** Looks until all of it is so; else says what was expected and what was seen. */
  async until(step: string, expected: readonly Expectation[], secondsMax = STEP_SECONDS_MAX): Promise<Sample> {
    this.#step = step;
    this.#options.say(step);
    const until = performance.now() + secondsMax * 1000;
    for (;;) {
      this.#options.signal.throwIfAborted();
      const sample = await this.#look();
      const differing = differences(expected, sample);
      if (differing.length === 0) {
        this.#tell(sample);
        return sample;
      }
      if (performance.now() > until) throw new CliError([`${step}: it differs`, ...differing].join('\n  '));
      await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
    }
  }

  /** Once all of it is so, it stays so for that long. */
  async hold(step: string, expected: readonly Expectation[], seconds: number): Promise<void> {
    await this.until(step, expected);
    const until = performance.now() + seconds * 1000;
    while (performance.now() < until) {
      this.#options.signal.throwIfAborted();
      const differing = differences(expected, await this.#look());
      if (differing.length > 0) throw new CliError([`${step}: it differs`, ...differing].join('\n  '));
      await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
    }
  }

  /** Ends what still runs and forgets it; its label is free again. */
  async clearAll(): Promise<void> {
    await this.clear();
    this.#sessions.clear();
  }

  /** Ends what still runs, and waits until it has ended. Safe to call at any point. */
  async clear(): Promise<void> {
    for (const { id, client } of this.#sessions.values()) await client.sessions.stop(id, { force: true });
    for (const { id, client } of this.#sessions.values()) await client.sessions.wait(id, { timeoutSeconds: 60 });
  }

  async record(outcome: 'as expected' | 'different', problem?: string): Promise<void> {
    const { recordFile, say } = this.#options;
    if (recordFile === undefined) return;
    const recording = { schema: 'berth.demo/1', outcome, problem, ...this.#notes, samples: this.#samples };
    await writeFile(recordFile, `${JSON.stringify(recording, null, 2)}\n`);
    say(`recorded ${this.#samples.length} samples in ${recordFile}`);
  }

  #find(label: string) {
    const session = this.#sessions.get(label);
    if (session === undefined) throw new Error(`there is no session ${label}`);
    return session;
  }

  async #look(): Promise<Sample> {
    const found = await Promise.all(
      [...this.#sessions].map(async ([label, { id, client }]) => [label, await seen(client, id)] as const),
    );
    const sample: Sample = {
      at: new Date().toISOString(),
      elapsedSeconds: Number(((performance.now() - this.#started) / 1000).toFixed(3)),
      step: this.#step,
      sessions: Object.fromEntries(found),
      use: await useOf(this.#options.admin, this.#options.group),
    };
    this.#samples.push(sample);
    return sample;
  }

  #tell({ sessions, use }: Sample): void {
    for (const [label, session] of Object.entries(sessions)) {
      if (isOver(session)) continue;
      const where = session.nodes.length === 0 ? '' : ` on ${session.nodes.join(', ')}`;
      const place = session.position === null ? where : ` (place ${session.position})`;
      const why = session.reason === null ? '' : `: ${session.reason}, ${session.message}`;
      this.#options.say(`  ${label.padEnd(10)} ${session.state}${place}${why}`);
    }
    this.#options.say(`  in use     ${formatCpu(use.cpuMilli)} CPU, ${use.gpus} GPUs`);
  }
}

const isOver = ({ state }: SeenSession): boolean => ['TERMINATED', 'CANCELLED', 'ERROR'].includes(state);

async function seen(client: Client, id: string): Promise<SeenSession> {
  const [session, why] = await Promise.all([client.sessions.get(id), client.sessions.why(id)]);
  const { state, cause, kernels, placedAt } = session;
  const { reason, message, blockers, queue, eta } = why;
  const nodes = [...new Set(kernels.flatMap(({ node }) => node ?? []))];
  const place = { position: queue?.position ?? null, nodes, expectedStart: eta?.p90 ?? null, placedAt };
  return { id, state, reason, message, blockers, cause, ...place };
}

export async function useOf(admin: Client, group: string): Promise<SeenUse> {
  const nodes = await admin.nodes.list({ group }).toArray();
  const sum = (amount: (node: (typeof nodes)[number]) => number): number =>
    nodes.reduce((total, node) => total + amount(node), 0);
  return {
    cpuMilli: sum(({ used }) => used.cpuMilli),
    cpuMilliCapacity: sum(({ capacity }) => capacity.cpuMilli),
    gpus: sum(({ devices }) => devices.filter(({ heldBy }) => heldBy !== null).length),
    gpuCapacity: sum(({ devices }) => devices.length),
  };
}

/** The group must be empty, with `nodes` that are READY: what others run there would change every number. */
export async function checkGroup(options: DemoOptions, nodes: number): Promise<SeenUse> {
  const { admin, group } = options;
  const open = await admin.sessions.list({ open: true, group }).toArray();
  if (open.length > 0) {
    const names = open.map(({ name, user }) => `${name} of ${user}`).join(', ');
    throw usageError(`group ${group} has open sessions: ${names}`, 'berth stop NAME, or --group with an empty group');
  }
  const ready = (await admin.nodes.list({ group }).toArray()).filter(({ state }) => state === 'READY');
  if (ready.length !== nodes) {
    const needs = nodes === 1 ? 'one' : `${nodes}`;
    const mend = nodes === 1 ? 'berth node ls' : `berth down, then berth up --nodes ${nodes}`;
    throw usageError(`group ${group} has ${ready.length} READY nodes; the demonstration needs ${needs}`, mend);
  }
  return useOf(admin, group);
}
