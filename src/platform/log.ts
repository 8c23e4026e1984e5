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

/** Made once a millisecond. */
let isoText = '';
let isoMs = 0;
function isoTime(): string {
  const nowMs = Date.now();
  if (nowMs !== isoMs) isoText = `,"time":"${new Date(nowMs).toISOString()}"`;
  isoMs = nowMs;
  return isoText;
}

const ACCESS_BUFFER_BYTES = 8_192;
const ACCESS_FLUSH_MS = 1_000;

export interface AccessLog extends Pick<Logger, 'info'> {
  close(): void;
}

/**
 * Lines of a server that answers thousands of requests a second, written some at once: a process that is killed loses those
 * of its last second. Nothing is redacted: who writes here names each field.
 */
export function createAccessLog({ process, level }: Omit<LogOptions, 'destination'>): AccessLog {
  const destination = pino.destination({ dest: 1, sync: false, minLength: ACCESS_BUFFER_BYTES });
  const log = pino({ base: { process, log: 'access' }, level, timestamp: isoTime }, destination);
  const timer = setInterval(() => destination.flush(), ACCESS_FLUSH_MS).unref();
  return {
    info: log.info.bind(log),
    close() {
      clearInterval(timer);
      destination.flushSync();
    },
  };
}

/** A URL fit for a message: without its password. What is no URL is not shown at all. */
export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return '[not a URL]';
  const parsed = new URL(url);
  if (parsed.password !== '') parsed.password = '***';
  return parsed.toString();
}
