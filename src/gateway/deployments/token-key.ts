import { DEPLOYMENT_TOKEN_PREFIX, hashSecret } from '../../platform/tokens.js';
import type { ModelRoute } from '../../store/model-store.js';
import { type KeyAnswer, KnownKey } from '../models/gateway-keys.js';
import type { DeploymentTable, KnownToken } from './deployment-table.js';

const BEARER = new RegExp(`^Bearer +(${DEPLOYMENT_TOKEN_PREFIX}[\\x21-\\x7e]{1,500}) *$`, 'i');
const NO_LIMITS = { models: null, requestsPerMinute: null, tokensPerMinute: null };

/** A deployment's token as a key: it may use that one, and nothing else exists for it. */
export class TokenKey extends KnownKey {
  readonly #token: KnownToken;

  constructor(token: KnownToken) {
    const rights = { project: null, projects: [], isOperator: false, scope: 'models', limits: NO_LIMITS } as const;
    super({ keyId: token.id, ...rights });
    this.#token = token;
  }

  override mayUse({ claimId }: ModelRoute): boolean {
    return claimId === this.#token.entry.deployment.deploymentId;
  }

  override projectFor({ project }: ModelRoute): string {
    return project;
  }
}

/** Null: the header holds no token of a deployment, whether valid or not. */
export function tokenKeyOf(table: Pick<DeploymentTable, 'tokenOf'>, header: string | undefined): KeyAnswer | null {
  const secret = header === undefined ? undefined : BEARER.exec(header)?.[1];
  if (secret === undefined) return null;
  const token = table.tokenOf(hashSecret(secret));
  return token === null ? 'unknown' : new TokenKey(token);
}
