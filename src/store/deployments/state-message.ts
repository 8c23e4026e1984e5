import type { DeploymentState } from '../../contract/index.js';

export interface StateGround {
  readonly state: DeploymentState;
  readonly replicasWanted: number;
  readonly replicasLive: number;
  readonly replicasServing: number;
  readonly rolloutMessage: string;
  readonly retryAt: string | null;
  /** Of the oldest replica that should serve and does not. */
  readonly waitsFor: string | null;
}

const because = ({ waitsFor, retryAt }: StateGround): string =>
  [
    ...(waitsFor === null ? [] : [waitsFor]),
    ...(retryAt === null ? [] : [`failures hold back the next replica until ${retryAt}`]),
  ].join('; ');

/** For people: what the state rests on. */
export function stateMessage(ground: StateGround): string {
  const { state, replicasWanted, replicasLive, replicasServing, rolloutMessage } = ground;
  const counts = `${replicasServing} of ${replicasWanted} serve`;
  switch (state) {
    case 'ENDED':
      return 'it has ended';
    case 'ENDING':
      return 'off its endpoint: its replicas drain and end';
    case 'IDLE':
      return replicasLive === 0 ? 'no replica is wanted' : `no replica is wanted; ${replicasLive} live`;
    case 'READY':
      return counts;
    case 'DEPLOYING':
    case 'DEGRADED':
    case 'UNAVAILABLE': {
      const why = because(ground);
      const told = state === 'DEPLOYING' && rolloutMessage !== '' ? rolloutMessage : counts;
      return why === '' ? told : `${told}: ${why}`;
    }
  }
}
