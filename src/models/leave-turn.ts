import { placeOn } from './place-claim.js';
import { addEngine, type Engine } from './pool-state.js';
import { orderStop, successorOf, type Turn } from './turn.js';

/** Engines that have to go: of claims that end, that failed, whose successor serves, or whose member drains. */
export function leaveTurn(turn: Turn): void {
  for (const engine of [...turn.state.engines]) {
    const because = whyItStops(turn, engine);
    if (because !== null) orderStop(turn, engine, because);
  }
  for (const engine of [...turn.state.engines]) if (isDraining(engine)) leaveMember(turn, engine);
}

function whyItStops({ state }: Turn, engine: Engine): string | null {
  const { claim, phase, order, row } = engine;
  if (order === 'stop') return null;
  if (claim.isEnding) return `${claim.model} ends`;
  if (row?.phase === 'FAILED') return 'its engine failed';
  if (phase === 'STOPPING') return null;
  if (engine.replica >= claim.replicas) return `${claim.model} has ${claim.replicas} replicas`;
  const successor = successorOf(state, engine);
  if (successor?.phase === 'ACTIVE')
    return `${claim.model} serves on ${successor.on.map(({ name }) => name).join(', ')}`;
  return null;
}

const isDraining = ({ phase, member }: Engine): boolean =>
  phase !== 'STOPPING' && (member.state === 'DRAINING' || member.state === 'LEAVING');

/** Started anew where there is room, and stopped once that serves; where there is none it stops, and its claim waits. */
function leaveMember(turn: Turn, engine: Engine): void {
  const { state, places } = turn;
  const { claim, member, phase, replica, id } = engine;
  if (phase === 'STARTING') return orderStop(turn, engine, `${member.node} is drained`);
  if (phase === 'WAKING' || engine.order !== null || successorOf(state, engine) !== undefined) return;
  const found = member.state === 'LEAVING' ? null : placeOn(state, { claim, exceptMember: member });
  if (found === null) return orderStop(turn, engine, `${member.node} is drained, and no other member has room`);
  addEngine(state, { claim, replica, on: found.gpus, movesFrom: id });
  places.push({
    claimId: claim.id,
    model: claim.model,
    replica,
    member: found.gpus[0].member.sessionId,
    gpus: found.gpus.map(({ name }) => name),
    movesFrom: id,
    because: `${member.node} is drained; ${found.because}`,
  });
}
