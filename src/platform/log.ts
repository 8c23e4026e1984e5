import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';

export type { Logger };

/** Names under which a secret may come along in a logged object, at the top or one or two levels down. */
const SECRET_NAMES = [
  'password',
  'token',
  'apiKey',
  'secret',
  'authorization',
  'cookie',
  'databaseUrl',
  'DATABASE_URL',
  'nodeToken',
  'env',
  'environment',
  'registryAuth',
];

const REDACT = {
  paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
  censor: '[redacted]',
};

/** Temporal's SDK calls it `error`, which would be shown as {}. */
const SERIALIZERS = { error: (error: unknown) => (error instanceof Error ? stdSerializers.err(error) : error) };

export interface LogOptions {
  /** Name of the process, on each line. */
  readonly process: string;
  readonly level: string;
  /** Standard output when unset. */
  readonly destination?: DestinationStream;
}

/** One JSON line an event, on standard output: the supervisor or the machine's journal keeps it. */
export function createLogger({ process, level, destination }: LogOptions): Logger {
  const options = {
    base: { process },
    level,
    redact: REDACT,
    serializers: SERIALIZERS,
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** A URL fit for a message: without its password. What is no URL is not shown at all. */
export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return '[not a URL]';
  const parsed = new URL(url);
  if (parsed.password !== '') parsed.password = '***';
  return parsed.toString();
}
