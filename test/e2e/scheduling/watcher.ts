import type { Node, Session } from '../../../src/contract/index.js';
import type { Client } from '../../../src/sdk/index.js';
import type { Engine, SeenContainer } from './engine.js';

const EVERY_MS = 250;
/** States in which a session may have containers. */
const LIVE: readonly Session['state'][] = ['PREPARING', 'CREATING', 'RUNNING', 'PREEMPTING', 'TERMINATING'];

/** One look at everything. `before` and `after` are read around the engine's list: what both say was so meanwhile. */
export interface Look {
  readonly before: ReadonlyMap<string, Session>;
  readonly after: ReadonlyMap<string, Session>;
  readonly nodes: readonly Node[];
  readonly containers: readonly SeenContainer[];
}
export interface Seen {
  readonly looks: number;
  /** Kernels whose container was compared with what was booked for it. */
  readonly compared: number;
  readonly gangsOverBothNodes: number;
  readonly devicesWithTwoShares: number;
  /** What must never be, each once; empty when all was well. */
  readonly problems: readonly string[];
}

/** Looks at ledger and engine, again and again, from outside. */
export class Watcher {
  readonly #client: Client;
  readonly #engine: Engine;
  readonly #problems = new Set<string>();
  readonly #gangs = new Set<string>();
  readonly #shared = new Set<string>();
  #looks = 0;
  #compared = 0;
  #isEnding = false;
  #done: Promise<void> = Promise.resolve();
  /** Its containers are nobody's while it is LOST. */
  awayNode: string | undefined;

  constructor(client: Client, engine: Engine) {
    this.#client = client;
    this.#engine = engine;
  }

  start(): void {
    this.#done = this.#watch();
  }

  async stop(): Promise<Seen> {
    this.#isEnding = true;
    await this.#done;
    return {
      looks: this.#looks,
      compared: this.#compared,
      gangsOverBothNodes: this.#gangs.size,
      devicesWithTwoShares: this.#shared.size,
      problems: [...this.#problems],
    };
  }

  async #watch(): Promise<void> {
    while (!this.#isEnding) {
      this.#check(await this.#look());
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }

  async #look(): Promise<Look> {
    const before = await this.#open();
    const [containers, nodes] = await Promise.all([this.#engine.containers(), this.#client.nodes.list().toArray()]);
    return { before, containers, nodes, after: await this.#open() };
  }

  async #open(): Promise<ReadonlyMap<string, Session>> {
    const sessions = await this.#client.sessions.list({ open: true }).toArray();
    return new Map(sessions.map((session) => [session.id, session]));
  }

  #check(look: Look): void {
    this.#looks += 1;
    const memory = new Map(
      look.nodes.flatMap(({ name, devices }) => devices.map((d) => [`${name} ${d.id}`, d.memoryBytes])),
    );
    const found = [
      ...look.nodes.flatMap(nodeProblems),
      ...engineProblems(look.containers, memory),
      ...[...look.after.values()].flatMap(gangProblems),
      ...this.#strangers(look),
      ...this.#differences(look),
    ];
    for (const problem of found) this.#problems.add(problem);
    for (const session of look.after.values()) {
      const nodes = new Set(session.kernels.flatMap(({ node }) => node ?? []));
      if (nodes.size > 1) this.#gangs.add(session.id);
    }
    for (const { name, devices } of look.nodes) {
      for (const { id, shares } of devices) if (shares.length > 1) this.#shared.add(`${name} ${id}`);
    }
  }

  /** Running containers of sessions that have none. */
  #strangers({ containers, before, after }: Look): string[] {
    return containers
      .filter(({ isRunning, node }) => isRunning && node !== this.awayNode)
      .filter(({ sessionId, kernelId, attempt, node }) =>
        [before.get(sessionId), after.get(sessionId)].every(
          (session) =>
            session === undefined ||
            session.attempt !== attempt ||
            !LIVE.includes(session.state) ||
            !session.kernels.some((kernel) => kernel.id === kernelId && kernel.node === node),
        ),
      )
      .map(({ sessionId, attempt, node }) => {
        const now = after.get(sessionId);
        return `${sessionId} has a container of attempt ${attempt} on ${node}, and is ${now?.state ?? 'over'} (${now?.attempt ?? '-'})`;
      });
  }

  /** Sessions that ran all the while: each kernel has its one container, on its node, with its devices. */
  #differences({ before, after, containers }: Look): string[] {
    const steady = [...after.values()].filter((session) => {
      const earlier = before.get(session.id);
      return session.state === 'RUNNING' && earlier?.state === 'RUNNING' && earlier.attempt === session.attempt;
    });
    return steady.flatMap(({ id, attempt, kernels }) =>
      kernels.flatMap((kernel) => {
        const own = containers.filter((one) => one.kernelId === kernel.id && one.attempt === attempt);
        this.#compared += 1;
        const booked = told(
          kernel.node,
          kernel.devices.map((device) => device.id),
          sharesOf(kernel),
        );
        const real = own.map(({ node, devices, sharing, memoryBytes }) =>
          told(node, devices, sharing === '' || sharing === 'whole' ? '' : `${sharing} ${memoryBytes.join()}`),
        );
        return real.length === 1 && real[0] === booked
          ? []
          : [`${id} ${kernel.role}: ${booked} booked, ${real.join(' and ') || 'no container'}`];
      }),
    );
  }
}

const told = (node: string | null, devices: readonly string[], shares: string): string =>
  `${node} [${devices.toSorted().join()}] ${shares}`;

const sharesOf = ({ devices }: Session['kernels'][number]): string =>
  devices.flatMap(({ share }) => (share === null ? [] : `${share.sharing} ${share.limitBytes}`)).join();

function nodeProblems({ name, used, capacity, devices }: Node): string[] {
  const above = used.cpuMilli > capacity.cpuMilli || used.memoryBytes > capacity.memoryBytes;
  const below = used.cpuMilli < 0 || used.memoryBytes < 0;
  return [
    ...(above || below ? [`${name} has ${JSON.stringify(used)} in use of ${JSON.stringify(capacity)}`] : []),
    ...devices.flatMap(({ id, heldBy, shares, memoryBytes, sharing }) => [
      ...(heldBy !== null && shares.length > 0 ? [`${name} ${id} is whole and shared at once`] : []),
      ...(sum(shares.map((share) => share.memoryBytes)) > memoryBytes
        ? [`${name} ${id} is shared beyond its memory`]
        : []),
      ...(sharing === 'mig' && shares.length > 1 ? [`${name} ${id} is an instance with two shares`] : []),
    ]),
  ];
}

/** The same of what really runs, by the containers alone. */
function engineProblems(containers: readonly SeenContainer[], memory: ReadonlyMap<string, number>): string[] {
  const users = new Map<string, SeenContainer[]>();
  for (const one of containers.filter(({ isRunning }) => isRunning)) {
    for (const id of one.devices) users.set(`${one.node} ${id}`, [...(users.get(`${one.node} ${id}`) ?? []), one]);
  }
  return [...users].flatMap(([device, of]) => {
    const hasWhole = of.some(({ sharing }) => sharing === 'whole');
    const isFine = hasWhole
      ? of.length === 1
      : sum(of.flatMap(({ memoryBytes }) => memoryBytes)) <= (memory.get(device) ?? 0);
    return isFine ? [] : [`${device} is used by containers of ${of.map(({ sessionId }) => sessionId).join(' and ')}`];
  });
}

/** A gang is placed whole or not at all, and every kernel has the devices that it asked for. */
function gangProblems({ id, kernels, state }: Session): string[] {
  const placed = kernels.filter(({ node }) => node !== null);
  if (placed.length > 0 && placed.length < kernels.length) return [`${id} (${state}) is placed in part`];
  const wrong = placed.filter(
    ({ slots, devices }) =>
      devices.length > 0 && devices.length !== Math.max(slots.gpuCount, slots.gpuMemoryBytes > 0 ? 1 : 0),
  );
  return wrong.length > 0 ? [`${id} (${state}) has other devices than it asked for`] : [];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
