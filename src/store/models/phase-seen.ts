import type { InstancePhase, MemberLook, OrderKind } from '../../contract/index.js';

type State = MemberLook['engines'][number]['state'];

/**
 * What the ledger makes of an engine's state. While an order is carried out its result says what became of it; but one that
 * exited for good will not sleep or wake any more. Without an order what the node sees is so, whoever did it.
 */
export function phaseSeen(
  { phase, order_kind }: { readonly phase: InstancePhase; readonly order_kind: OrderKind | null },
  state: State,
): InstancePhase | 'gone' {
  if (phase === 'STOPPING' || phase === 'FAILED' || order_kind === 'stop' || order_kind === 'start') return phase;
  if (state === 'exited') return 'gone';
  if (order_kind !== null) return phase;
  switch (state) {
    case 'ready':
      return 'ACTIVE';
    case 'sleeping':
      return 'SLEEPING';
    case 'starting':
    case 'restarting':
      return 'STARTING';
    case 'unreachable':
      return phase;
  }
}
