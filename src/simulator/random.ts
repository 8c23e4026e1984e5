/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** In [0, 1). */
  readonly next: () => number;
  /** Of the normal distribution with mean 0 and deviation 1. */
  readonly normal: () => number;
}

/** mulberry32: 32 bits of state, enough for a stream of millions. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return { next, normal };
}

/** Chooses by weight; `of` is not empty. */
export function weighted<Item extends { readonly weight: number }>(of: readonly Item[]): (random: Random) => Item {
  const sums: number[] = [];
  let sum = 0;
  for (const { weight } of of) sums.push((sum += weight));
  return (random) => {
    const drawn = random.next() * sum;
    let low = 0;
    let high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) > drawn) high = middle;
      else low = middle + 1;
    }
    return of[low] as Item;
  };
}
