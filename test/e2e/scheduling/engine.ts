import { engine } from '../../../infra/setup/docker.mjs';

/** A container as the engine has it: what the agent made of a launch order, and no word of the ledger. */
export interface SeenContainer {
  readonly id: string;
  readonly isRunning: boolean;
  readonly node: string;
  readonly sessionId: string;
  readonly kernelId: string;
  readonly attempt: number;
  /** Ids of its devices, in order. */
  readonly devices: readonly string[];
  /** `whole`, or the mode of its share; empty without devices. */
  readonly sharing: string;
  readonly memoryBytes: readonly number[];
  /** In words, as its program reads them. */
  readonly guarantees: string;
}

interface Row {
  readonly Id: string;
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

/** The environment of a container never changes, so each is asked for once. */
export class Engine {
  readonly #nodes: readonly string[];
  readonly #environments = new Map<string, ReadonlyMap<string, string>>();

  constructor(nodes: readonly string[]) {
    this.#nodes = nodes;
  }

  /** All containers of these nodes, ended ones too: one list, so what it says was so at one moment. */
  async containers(): Promise<readonly SeenContainer[]> {
    const filters = encodeURIComponent(JSON.stringify({ label: ['berth.node'] }));
    const { text } = await engine('GET', `/containers/json?all=true&filters=${filters}`);
    const rows = (JSON.parse(text) as readonly Row[]).filter((row) => this.#nodes.includes(nodeOf(row)));
    const seen = await Promise.all(rows.map((row) => this.#seen(row)));
    return seen.filter((container) => container !== undefined);
  }

  /** Undefined when it went before it could be asked. */
  async #seen(row: Row): Promise<SeenContainer | undefined> {
    const environment = await this.#environmentOf(row.Id);
    if (environment === undefined) return undefined;
    const { Id: id, State: state, Labels: labels } = row;
    const list = (name: string): string[] => (environment.get(name) ?? '').split(',').filter((part) => part !== '');
    return {
      ...{ id, isRunning: state === 'running', node: nodeOf(row), attempt: Number(labels['berth.attempt']) },
      ...{ sessionId: labels['berth.session'] ?? '', kernelId: labels['berth.kernel'] ?? '' },
      devices: list('BERTH_SIMULATED_GPUS'),
      sharing: environment.get('BERTH_GPU_SHARING') ?? '',
      memoryBytes: list('BERTH_GPU_MEMORY_BYTES').map(Number),
      guarantees: environment.get('BERTH_GPU_GUARANTEES') ?? '',
    };
  }

  async #environmentOf(id: string): Promise<ReadonlyMap<string, string> | undefined> {
    const known = this.#environments.get(id);
    if (known !== undefined) return known;
    const { status, text } = await engine('GET', `/containers/${id}/json`);
    if (status === 404) return undefined;
    const { Config } = JSON.parse(text) as { readonly Config: { readonly Env: readonly string[] } };
    const made = new Map(
      Config.Env.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    this.#environments.set(id, made);
    return made;
  }
}

const nodeOf = ({ Labels }: Row): string => Labels['berth.node'] ?? '';
