export interface TemporalServerOptions {
  readonly port: number;
  /** Without one the server runs headless. */
  readonly uiPort?: number;
  /** Without one the state is in memory and gone with the process. */
  readonly databaseFile?: string;
  readonly metricsPort?: number;
  readonly searchAttributes?: Readonly<Record<string, string>>;
  /** More `key=value` for the server, beside those that make it fast. */
  readonly dynamicConfig?: readonly string[];
}

/**
 * Defaults that cost most of the time on one machine: with 200 polls a second an idle submit takes 30 instead of
 * 147 ms, and timers under a second fire 9–14 ms late instead of at about 1 s.
 */
const FAST_ON_ONE_MACHINE = ['history.transferProcessorMaxPollRPS=200', 'history.timerProcessorMaxTimeShift="20ms"'];

/** The default journal and full syncs make the file six times slower where a disk sync costs milliseconds. */
const FILE_PRAGMAS = ['journal_mode=WAL', 'synchronous=NORMAL'];

/** The command line of `temporal` for a development server that keeps up on two cores. */
export function temporalArguments(options: TemporalServerOptions): string[] {
  const repeated = (flag: string, values: readonly string[]) => values.flatMap((value) => [flag, value]);
  const file = options.databaseFile;
  const attributes = Object.entries(options.searchAttributes ?? {}).map(([name, type]) => `${name}=${type}`);
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(options.port)],
    ...(options.uiPort === undefined ? ['--headless'] : ['--ui-port', String(options.uiPort)]),
    ...(options.metricsPort === undefined ? [] : ['--metrics-port', String(options.metricsPort)]),
    ...(file === undefined ? [] : ['--db-filename', file, ...repeated('--sqlite-pragma', FILE_PRAGMAS)]),
    ...repeated('--dynamic-config-value', [...FAST_ON_ONE_MACHINE, ...(options.dynamicConfig ?? [])]),
    ...repeated('--search-attribute', attributes),
    ...['--log-level', 'warn'],
  ];
}
