export interface UsedTokens {
  /** False when the token is used up, or in use. Else it is taken, until `giveBack` or its expiry. */
  take(jti: string, expiresAtSeconds: number): boolean;
  /** The upload failed: the same token may try again. */
  giveBack(jti: string): void;
}

const SWEEP_EACH = 1_000;

/** Ids of write tokens until they expire by themselves. In memory: one proxy serves a volume. */
export function createUsedTokens(nowSeconds: () => number): UsedTokens {
  const used = new Map<string, number>();
  let sinceSweep = 0;
  const sweep = () => {
    sinceSweep += 1;
    if (sinceSweep < SWEEP_EACH) return;
    sinceSweep = 0;
    for (const [jti, expiresAt] of used) if (expiresAt < nowSeconds()) used.delete(jti);
  };
  return {
    take(jti, expiresAtSeconds) {
      sweep();
      if (used.has(jti)) return false;
      used.set(jti, expiresAtSeconds);
      return true;
    },
    giveBack: (jti) => void used.delete(jti),
  };
}
