import type { SnapshotPending } from '../contract/snapshot.js';
import type { Blocker } from '../contract/why.js';
import { listText } from './amount-text.js';
import { demandOf } from './demand.js';
import type { Refusal } from './explain-blocked.js';
import { type GuaranteeBook, type GuaranteeLevel, gpusAsked, isFirm } from './guarantee-book.js';
import { guaranteedTo, type Holder, holderOf } from './guarantee-holder.js';

/**
 * Null when the session may be placed. Work that cannot be gone within a guarantee's time may take only what is neither
 * guaranteed to others nor firm already: the sum over all holders of max(guaranteed, firm), this one counted, is at
 * most the GPUs there are, for each time within which guarantees have to be kept. One that raises no sum is not refused.
 */
export function guaranteeRefusal(book: GuaranteeBook, session: SnapshotPending): Refusal | null {
  const asked = gpusAsked(book, demandOf(session));
  if (asked === 0) return null;
  for (const level of book.levels) {
    if (!isFirm(session, level)) continue;
    const sum = sumOf(book, level, session);
    if (sum.more > 0 && sum.before + sum.more > book.gpuCount) return told(book, { level, session, asked, sum });
  }
  return null;
}

interface Sum {
  readonly before: number;
  readonly more: number;
}

/** Its own hold, if it has one, is not counted against it. */
function sumOf(book: GuaranteeBook, level: GuaranteeLevel, session: SnapshotPending): Sum {
  const { guaranteed, firm } = level;
  const own = book.promised.get(session.id);
  const ownFirm = own !== undefined && isFirm(own.firmness, level) ? own : undefined;
  const firmOf = (of: Holder): number => (firm.get(of) ?? 0) - (ownFirm?.holder === of ? ownFirm.gpus : 0);
  const takenBy = (of: Holder, more = 0): number => Math.max(guaranteed.get(of) ?? 0, firmOf(of) + more);
  let before = 0;
  for (const each of new Set([...guaranteed.keys(), ...firm.keys()])) before += takenBy(each);
  const holder = holderOf(book, session);
  return { before, more: takenBy(holder, gpusAsked(book, demandOf(session))) - takenBy(holder) };
}

interface Told {
  readonly level: GuaranteeLevel;
  readonly session: SnapshotPending;
  readonly asked: number;
  readonly sum: Sum;
}

function told(book: GuaranteeBook, { level, session, asked, sum }: Told): Refusal {
  const own = holderOf(book, session);
  const others = [...book.guarantees.entries()]
    .filter(([holder]) => holder !== own && level.guaranteed.has(holder))
    .map(([, guarantee]) => guarantee);
  const shown = others.slice(0, 5).map((guarantee) => `${guarantee.gpuCount} to ${guaranteedTo(guarantee)}`);
  const more = others.length > 5 ? [`more to ${others.length - 5} others`] : [];
  const stays = session.preemptible
    ? `it may stay for ${session.minRuntimeSeconds + session.gracePeriodSeconds} s (minimum runtime and grace)`
    : 'it may not be stopped';
  const over = sum.before + sum.more - book.gpuCount;
  const guaranteed =
    others.length === 0 ? 'what others hold firmly' : `GPU are guaranteed: ${listText([...shown, ...more])}`;
  return {
    reason: 'guaranteed_share',
    message:
      `${stays}, and ${guaranteed}, within ${level.returnSeconds} s; guaranteed or held as firmly ` +
      `${sum.before} + ${sum.more} (of its ${asked}) > ${book.gpuCount} GPU of the group, over by ${over}`,
    blockers: others.slice(0, 5).map((guarantee): Blocker => {
      const amounts = { resource: 'gpuCount', need: asked, used: sum.before, limit: book.gpuCount };
      const scope = guarantee.project === '' ? 'group' : 'project';
      return { kind: 'quota', scope, name: guaranteedTo(guarantee), ...amounts };
    }),
    violations: [],
    nodes: null,
  };
}
