import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { connectTemporal } from '../../../src/temporal/connect.js';
import { endChild, spawnTied } from '../../support/process.js';
import { FLOOR_CONTROL, type FloorNews, type FloorSession } from './floor-names.js';

/** A do-nothing control plane with the tasks of the real one, on the same Temporal, in two processes of its own. */
export interface Floor {
  /** Update-with-start: resolves once it is "admitted". */
  submit(session: FloorSession): Promise<void>;
  placed(id: string): Promise<void>;
  /** When its `markRunning` was called, on this machine's clock. */
  running(id: string): Promise<number>;
  finished(): number;
  stop(): Promise<void>;
}

function startWorker(role: 'control' | 'node', address: string): ChildProcess {
  const program = join(import.meta.dirname, 'floor-worker.ts');
  const stdio: ('ignore' | 'ipc')[] = ['ignore', 'ignore', 'ignore', 'ipc'];
  return spawnTied(process.execPath, ['--import', 'tsx', program, role, address], { stdio });
}

export async function startFloor(address: string): Promise<Floor> {
  const children = [startWorker('control', address), startWorker('node', address)];
  const runningAt = new Map<string, number>();
  const news = new EventEmitter();
  let finished = 0;
  const ready = children.map(
    (child) =>
      new Promise<void>((resolve, reject) => {
        child.once('exit', (code) => reject(new Error(`a worker of the floor ended with ${code}`)));
        child.on('message', (message: FloorNews) => {
          if (message.kind === 'ready') resolve();
          if (message.kind === 'finished') finished += 1;
          if (message.kind !== 'running') return;
          runningAt.set(message.id, message.at);
          news.emit(message.id);
        });
      }),
  );
  await Promise.all(ready);
  const { client, connection } = connectTemporal({ address, namespace: 'default' });
  return {
    async submit(session) {
      const startWorkflowOperation = new WithStartWorkflowOperation('floorSession', {
        workflowId: `floor/${session.id}`,
        taskQueue: FLOOR_CONTROL,
        args: [session],
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
      await client.workflow.executeUpdateWithStart('admit', {
        updateId: 'admit',
        startWorkflowOperation: startWorkflowOperation as never,
      });
    },
    placed: (id) => client.workflow.getHandle(`floor/${id}`).signal('placed'),
    async running(id) {
      if (!runningAt.has(id)) await once(news, id);
      return runningAt.get(id) ?? Number.NaN;
    },
    finished: () => finished,
    async stop() {
      await Promise.all(children.map((child) => endChild(child, 'SIGKILL')));
      await connection.close();
    },
  };
}
