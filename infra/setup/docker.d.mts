export interface FoundDocker {
  readonly host: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly how: string;
}
export const DEFAULT_DOCKER_HOST: string;
export function dockerHost(): string;
export function engine(
  method: string,
  path: string,
  options?: { readonly body?: unknown; readonly timeoutSeconds?: number; readonly contentType?: string },
): Promise<{ readonly status: number; readonly text: string }>;
export function findDocker(): Promise<FoundDocker | undefined>;
export function ensureDocker(): Promise<FoundDocker>;
