import type { CreateSessionInput, Session } from '../../contract/index.js';
import { CliError, usageError } from '../cli-error.js';
import { budgetOf, mustBeAlone, PROGRAMS, type Program, projectOf, withBudgets } from './budgets-scene.js';
import type { DemoOptions } from './demo-options.js';
import { drainKept } from './drain-kept.js';
import { gpusInUse, isState } from './expectations.js';
import type { People } from './people.js';
import { type Play, perform, RUNS_UNTIL_STOPPED } from './play.js';
import { Programs } from './programs.js';
import type { Stage } from './stage.js';
import { type SeenShares, staysLevel, watchShares } from './watch-shares.js';
import { withPolicy } from './with-policy.js';

const GPUS = 4;
/** Seconds for hours: W and m. */
const WINDOW_SECONDS = 40;
const MIN_RUNTIME_SECONDS = 3;
/** How long a job of the two programs runs. */
const RUN_SECONDS = 4;
/** Of the half that each of the two is due: a few jobs more or less, of the 40 that fit into the window. */
const WITHIN = 0.1;
const HOLD_SECONDS = 8;
const STEP_SECONDS_MAX = 60;
/** What the greedy one has used before the patient one comes. */
const LEAD_GPU_SECONDS = 24;
const GRACE_SECONDS = 1;

/** Two programs of one weight, one of them greedy; then work that is free; then a drain. */
export const demoBudgets = (options: DemoOptions): Promise<void> =>
  perform(options, {
    title: `GPU time budgets, seconds for hours: two programs of one weight on ${GPUS} GPUs, a window of ${WINDOW_SECONDS} s, minimum runtimes of ${MIN_RUNTIME_SECONDS} s.`,
    persons: PROGRAMS.map((program) => ({ name: program, projects: [projectOf(program)] })),
    check: ({ gpuCapacity }) => {
      if (gpuCapacity === GPUS) return;
      throw usageError(
        `the demonstration is on a node with ${GPUS} GPUs; this one has ${gpuCapacity}`,
        `berth down, then berth up --simulated-gpus ${GPUS}`,
      );
    },
    act: async (stage, people) => {
      await mustBeAlone(options);
      const terms = { domain: people.domain, windowSeconds: WINDOW_SECONDS };
      await withPolicy(options, { order: 'fair-share' }, () =>
        withBudgets(options, terms, async () => {
          const job = { runSeconds: RUN_SECONDS, minRuntimeSeconds: MIN_RUNTIME_SECONDS, graceSeconds: GRACE_SECONDS };
          const programs = new Programs(options, people.clients, job);
          try {
            await act({ options, stage, programs, ask: askerOf(stage, people) });
          } finally {
            await programs.clear(); // before the budgets are closed
            await stage.clear();
          }
        }),
      );
    },
  } satisfies Play);

interface Asked {
  readonly gpus: number;
  /** 0: unallocated, charged to nobody. */
  readonly minRuntimeSeconds: number;
}
type Ask = (label: string, program: Program, asked: Asked) => Promise<Session>;
interface Scene {
  readonly options: DemoOptions;
  readonly stage: Stage;
  readonly programs: Programs;
  readonly ask: Ask;
}

function askerOf(stage: Stage, { clients }: People): Ask {
  return (label, program, { gpus, minRuntimeSeconds }) => {
    const client = clients[program];
    if (client === undefined) throw new Error(`nobody is called ${program}`);
    const spec: Omit<CreateSessionInput, 'image' | 'group' | 'name'> = {
      project: projectOf(program),
      command: RUNS_UNTIL_STOPPED,
      kernels: [{ slots: { cpuMilli: 100, memoryBytes: 16 * 2 ** 20, gpuCount: gpus } }],
      resumable: true,
      gracePeriodSeconds: GRACE_SECONDS,
      ...(minRuntimeSeconds === 0 ? {} : { budget: budgetOf(program), minRuntimeSeconds }),
    };
    return stage.submit({ label, client, spec });
  };
}

async function act(scene: Scene): Promise<void> {
  await converge(scene);
  await scene.programs.clear();
  await fillAndYield(scene);
  await drainKept(scene.options, scene.stage, { filler: 'small', charged: 'charged' });
}

/** The greedy one has all GPUs and a lead; the patient one comes, catches up, and then both stay level. */
async function converge({ options, stage, programs }: Scene): Promise<void> {
  /** More waits than there are GPUs, of whoever has begun to ask. */
  const keep = async ({ shares }: SeenShares): Promise<void> => {
    for (const program of PROGRAMS) {
      if (programs.hasAsked(program) && shares[program].pendingGpus < 2 * GPUS) await programs.ask(program, GPUS);
    }
  };
  const watch = async (what: string, secondsMax: number, isSo: (seen: SeenShares) => boolean): Promise<void> => {
    options.say(what);
    stage.note(what, await watchShares(options, { what, secondsMax, isSo, keep }));
  };
  await programs.ask('greedy', 3 * GPUS);
  await watch(
    `the greedy program asks for more than there is, and nobody else asks: it has all ${GPUS} GPUs`,
    STEP_SECONDS_MAX,
    ({ shares: { greedy } }) => greedy.runningGpus === GPUS && greedy.usedGpuSeconds >= LEAD_GPU_SECONDS,
  );
  await programs.ask('patient', 3 * GPUS);
  await watch(
    'the patient program asks too: each GPU that comes free is its own until it has caught up',
    STEP_SECONDS_MAX,
    ({ shares: { patient, greedy } }) => patient.runningGpus === GPUS && greedy.pendingGpus > 0,
  );
  await watch(
    `both go on asking: each comes to half of what is charged, ${WITHIN * 100} points more or less, and stays there for ${HOLD_SECONDS} s`,
    2 * WINDOW_SECONDS,
    staysLevel(WITHIN, HOLD_SECONDS),
  );
  options.say('  verdict: the shares converged');
}

/** Unallocated work has what nobody asks for, is charged to nobody, and yields to the first that is charged. */
async function fillAndYield({ options, stage, ask }: Scene): Promise<void> {
  const filler = await ask('filler', 'greedy', { gpus: GPUS, minRuntimeSeconds: 0 });
  options.say(`  filler is told: ${filler.contract?.message ?? 'nothing'}`);
  if (filler.contract?.allocated !== false)
    throw new CliError('expected: a contract that says unallocated; seen: another');
  const runs = await stage.until('nobody is charged for the GPUs: work without a minimum runtime fills them', [
    isState('filler', 'RUNNING'),
    gpusInUse(GPUS),
  ]);
  await mustBeFree({ options, stage }, runs.sessions['filler']?.placedAt ?? runs.at);

  const charged = await ask('charged', 'patient', { gpus: 2, minRuntimeSeconds: 4 * MIN_RUNTIME_SECONDS });
  options.say(`  charged is told: ${charged.contract?.message ?? 'nothing'}`);
  await stage.until('a charged session asks for 2 GPUs: the filler yields, and waits again', [
    isState('charged', 'RUNNING'),
    isState('filler', 'PENDING'),
    gpusInUse(2),
  ]);
  await stage.end('filler');
  await ask('small', 'greedy', { gpus: 2, minRuntimeSeconds: 0 });
  await stage.until('free work of 2 GPUs runs beside it', [
    isState('small', 'RUNNING'),
    isState('charged', 'RUNNING'),
    gpusInUse(GPUS),
  ]);
}

/** By the report on the time since then: there was unallocated use, and none that was charged. */
async function mustBeFree({ options, stage }: Pick<Scene, 'options' | 'stage'>, from: string): Promise<void> {
  const { waterfall } = await options.admin.reports.get('root', { from });
  const { unallocatedGpuSeconds, chargedGpuSeconds } = waterfall;
  stage.note('free', { from, unallocatedGpuSeconds, chargedGpuSeconds });
  options.say(
    `  since then: ${unallocatedGpuSeconds.toFixed(1)} GPU-s unallocated, ${chargedGpuSeconds.toFixed(1)} charged`,
  );
  if (unallocatedGpuSeconds > 0 && chargedGpuSeconds === 0) return;
  throw new CliError(
    `expected: unallocated use, and none charged; seen: ${unallocatedGpuSeconds} GPU-s unallocated, ${chargedGpuSeconds} charged`,
  );
}
