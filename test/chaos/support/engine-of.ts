import { connectDocker } from '../../../src/docker/connect.js';
import { type Containers, createContainers } from '../../../src/docker/containers.js';
import { eventually } from '../../support/process.js';
import type { Berth } from './berth.js';

/** The engine of this Berth, for what a test looks at past the agent. */
export function engineOf({ engine }: Pick<Berth, 'engine'>): Containers {
  return createContainers({ docker: connectDocker(engine === undefined ? {} : { socketPath: engine.socketPath }) });
}

/** Containers of this Berth's nodes. */
export const containersOf = async (berth: Berth) =>
  (await Promise.all(berth.nodes.map((node) => engineOf(berth).list({ 'berth.node': node })))).flat();

/** The id of the one container of a session. */
export async function containerIdOf(berth: Berth, sessionId: string): Promise<string> {
  const [found] = await engineOf(berth).list({ 'berth.node': berth.node, 'berth.session': sessionId });
  if (found === undefined) throw new Error(`no container of ${sessionId}`);
  return found.id;
}

/** Its container has ended, as the engine says it. */
export const containerEnds = (berth: Berth, sessionId: string): Promise<void> =>
  eventually(
    `the container of ${sessionId} ends`,
    async () => {
      const found = await engineOf(berth).list({ 'berth.node': berth.node, 'berth.session': sessionId });
      return found.length > 0 && found.every(({ exitCode }) => exitCode !== undefined);
    },
    60,
  );
