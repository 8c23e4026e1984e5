/** What the benchmarks use of it; the package has no types of its own. */
declare module 'autocannon' {
  export interface Load {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration?: number;
    /** Requests, in the place of a duration. */
    readonly amount?: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly method?: 'POST';
    readonly body?: string;
  }
  export interface Measured {
    readonly requests: { readonly average: number; readonly total: number };
    /** Milliseconds. */
    readonly latency: { readonly p99: number };
    readonly non2xx: number;
    readonly errors: number;
  }
  export default function autocannon(load: Load): Promise<Measured>;
}
