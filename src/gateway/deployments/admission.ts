import type { GatewayKeys, KeyAnswer, KnownKey } from '../models/gateway-keys.js';
import type { DeploymentEntry } from './deployment-entry.js';
import { type EndpointProblem, KEYS_UNREAD, NO_DEPLOYMENT, NO_TOKEN, READS_ONLY } from './deployment-problem.js';
import type { DeploymentTable } from './deployment-table.js';
import { tokenKeyOf } from './token-key.js';

/** Let in, as whom (null: its endpoint asks nobody); or what is answered instead. */
export type Admission =
  | { readonly problem: EndpointProblem }
  | { readonly problem: null; readonly entry: DeploymentEntry; readonly known: KnownKey | null };

interface AdmissionDeps {
  readonly table: Pick<DeploymentTable, 'get' | 'tokenOf'>;
  readonly keys: Pick<GatewayKeys, 'of'>;
}

/** At once where the key is known, or a token is shown. */
export function admit(
  { table, keys }: AdmissionDeps,
  name: string,
  authorization: string | undefined,
): Admission | Promise<Admission> {
  const entry = table.get(name);
  if (entry?.deployment.access === 'public') return { problem: null, entry, known: null };
  const known = tokenKeyOf(table, authorization) ?? keys.of(authorization);
  // It is looked at when the key is known: a deployment may have ended meanwhile.
  return known instanceof Promise ? known.then((late) => judge(late, table.get(name))) : judge(known, entry);
}

function judge(known: KeyAnswer, entry: DeploymentEntry | undefined): Admission {
  if (known === 'unknown') return { problem: NO_TOKEN };
  if (known === 'away') return { problem: KEYS_UNREAD };
  if (entry === undefined || !known.mayUse(entry.route)) return { problem: NO_DEPLOYMENT };
  if (known.key.scope === 'read') return { problem: READS_ONLY };
  return { problem: null, entry, known };
}
