import type { Client } from '../../sdk/index.js';
import { budgetOf, PROGRAMS, type Program, projectOf } from './budgets-scene.js';
import type { DemoOptions } from './demo-options.js';

export interface Job {
  readonly runSeconds: number;
  readonly minRuntimeSeconds: number;
  readonly graceSeconds: number;
}

/** Ends by itself, and at once when it is asked to. */
const commandOf = ({ runSeconds }: Job): string[] => [
  'sh',
  '-c',
  `trap "exit 0" TERM; i=0; while [ $i -lt ${runSeconds * 10} ]; do sleep 0.1; i=$((i+1)); done`,
];

/** Two programs that keep asking: jobs of one GPU, as many as it takes. */
export class Programs {
  readonly #options: DemoOptions;
  readonly #clients: Readonly<Record<string, Client>>;
  readonly #job: Job;
  readonly #made: Record<Program, number> = { greedy: 0, patient: 0 };

  constructor(options: DemoOptions, clients: Readonly<Record<string, Client>>, job: Job) {
    this.#options = options;
    this.#clients = clients;
    this.#job = job;
  }

  hasAsked(program: Program): boolean {
    return this.#made[program] > 0;
  }

  async ask(program: Program, count: number): Promise<void> {
    const client = this.#clients[program];
    if (client === undefined) throw new Error(`nobody is called ${program}`);
    const { image, group, signal } = this.#options;
    const names = Array.from({ length: count }, (_, index) => `${program}-${this.#made[program] + index + 1}`);
    this.#made[program] += count;
    const shape = {
      image,
      group,
      project: projectOf(program),
      budget: budgetOf(program),
      command: commandOf(this.#job),
      kernels: [{ slots: { cpuMilli: 100, memoryBytes: 16 * 2 ** 20, gpuCount: 1 } }],
      minRuntimeSeconds: this.#job.minRuntimeSeconds,
      gracePeriodSeconds: this.#job.graceSeconds,
    };
    await Promise.all(names.map((name) => client.sessions.create({ ...shape, name }, { signal })));
  }

  /** Ends all that the two have asked for, and waits until it has ended. Safe to call twice. */
  async clear(): Promise<void> {
    const { admin, group } = this.#options;
    const open = (await admin.sessions.list({ open: true, group }).toArray()).filter(({ project }) =>
      PROGRAMS.some((program) => project === projectOf(program) || project.endsWith(`/${projectOf(program)}`)),
    );
    for (const { id } of open) await admin.sessions.stop(id, { force: true });
    for (const { id } of open) await admin.sessions.wait(id, { timeoutSeconds: 60 });
  }
}
