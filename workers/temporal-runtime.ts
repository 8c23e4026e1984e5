import { type LogLevel, type LogMetadata, Runtime, type Logger as TemporalLogger } from '@temporalio/worker';
import type { Logger } from '../src/platform/log.js';

const PINO_LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** Temporal's core logs through the process's logger; its own metrics are served where `metricsPort` says. */
export function installTemporalRuntime(log: Logger, metricsPort: number | undefined): void {
  Runtime.install({
    logger: bridged(log),
    shutdownSignals: [], // the process ends its worker itself, in order
    ...(metricsPort !== undefined && {
      telemetryOptions: {
        metrics: {
          prometheus: {
            bindAddress: `127.0.0.1:${metricsPort}`,
            countersTotalSuffix: true,
            unitSuffix: true,
            useSecondsForDurations: true,
          },
        },
      },
    }),
  });
}

function bridged(log: Logger): TemporalLogger {
  const write = (level: LogLevel, message: string, meta: LogMetadata = {}): void =>
    log[PINO_LEVELS[level]]({ ...meta, from: 'temporal' }, message);
  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
}
