export const TINY_MODEL: 'tiny';
export interface ServedVllm {
  readonly url: string;
  readonly port: number;
  /** Asked for on /v1, as a Bearer token. */
  readonly apiKey: string;
  readonly model: string;
  readonly modelPath: string;
  readonly logFile: string;
  /** SIGTERM, and SIGKILL after so many seconds (30). The exit code; null: by force. */
  readonly stop: (seconds?: number) => Promise<number | null>;
}
/** What is run: `vllm` with these arguments. */
export interface VllmLaunch {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}
/** The real vLLM on the CPU with a tiny Llama, ready. Installs it when it is not there (5 GB, minutes). */
export function serveVllm(options?: {
  readonly args?: readonly string[];
  readonly apiKey?: string;
  readonly launch?: (modelPath: string, port: number) => VllmLaunch;
}): Promise<ServedVllm>;
