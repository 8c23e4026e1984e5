export interface Random {
  /** A whole number below `below`. */
  readonly int: (below: number) => number;
  readonly pick: <T>(of: readonly T[]) => T;
  /** True in so many of 100 cases. */
  readonly chance: (percent: number) => boolean;
}

/** The same numbers in every run (a linear congruential generator modulo 2³²). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    int,
    pick: (of) => of[int(of.length)] as (typeof of)[number],
    chance: (percent) => next() * 100 < percent,
  };
}
