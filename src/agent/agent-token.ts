import { type AgentClaims, agentClaimsSchema } from '../contract/index.js';
import { createTokenVerifier, readVerifyKeys, TokenRefused } from '../platform/tokens.js';
import type { KernelRun } from './kernel-container.js';

export type Operation = AgentClaims['operation'];

/** True when the header bears a token for this very run and operation. The keys are read anew, since they may change. */
export type TokenCheck = (
  header: string | undefined,
  asked: KernelRun & { readonly operation: Operation; readonly containerPort?: number },
) => Promise<boolean>;

export function createTokenCheck(node: string, verifyKeyFile: string): TokenCheck {
  return async (header, asked) => {
    const token = /^Bearer (\S+)$/.exec(header ?? '')?.[1];
    if (token === undefined) return false;
    try {
      const verifier = createTokenVerifier(await readVerifyKeys(verifyKeyFile), `node/${node}`);
      const claims = agentClaimsSchema.safeParse(await verifier.verify(token));
      if (!claims.success) return false;
      const { kernelId, attempt, operation, containerPort } = claims.data;
      const isOfRun = kernelId === asked.kernelId && attempt === asked.attempt;
      return isOfRun && operation === asked.operation && containerPort === asked.containerPort;
    } catch (error) {
      if (error instanceof TokenRefused) return false;
      throw error;
    }
  };
}
