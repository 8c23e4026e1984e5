export const PROJECT_ROOT: string;
export class SetupError extends Error {
  readonly mend: string;
  constructor(message: string, mend: string);
}
export interface Ended {
  /** -1: could not start; 124: out of time. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
export function run(
  command: string,
  args: readonly string[],
  options?: {
    readonly timeoutSeconds?: number;
    readonly env?: Readonly<Record<string, string>>;
    readonly input?: string;
    readonly cwd?: string;
  },
): Promise<Ended>;
export function cacheDir(...parts: string[]): string;
export function which(name: string, more?: readonly string[]): string | undefined;
export function withLock<T>(name: string, work: () => Promise<T>, waitSeconds?: number): Promise<T>;
/** Words before a command that make it run as root; undefined when that cannot be had. */
export function rootPrefix(): Promise<readonly string[] | undefined>;
