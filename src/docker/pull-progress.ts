/** Over all layers known so far: `totalBytes` grows while the engine learns of more of them. */
export interface PullProgress {
  readonly currentBytes: number;
  readonly totalBytes: number;
  readonly layersDone: number;
  readonly layers: number;
}

/** One line of the engine's answer to a pull. */
export interface PullLine {
  readonly id?: string;
  readonly status?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
  readonly error?: string;
}

interface Layer {
  readonly currentBytes: number;
  readonly totalBytes: number;
  readonly done: boolean;
}
export type Layers = ReadonlyMap<string, Layer>;

const WAITING: Layer = { currentBytes: 0, totalBytes: 0, done: false };

/** The layers after one more line. Lines about anything else than a layer change nothing. */
export function afterLine(layers: Layers, line: PullLine): Layers {
  if (line.id === undefined || line.status === undefined) return layers;
  const layer = layerAfter(layers.get(line.id) ?? WAITING, line.status, line.progressDetail);
  return layer === undefined ? layers : new Map(layers).set(line.id, layer);
}

export function progressOf(layers: Layers): PullProgress {
  const all = [...layers.values()];
  return {
    currentBytes: all.reduce((sum, layer) => sum + layer.currentBytes, 0),
    totalBytes: all.reduce((sum, layer) => sum + layer.totalBytes, 0),
    layersDone: all.filter((layer) => layer.done).length,
    layers: all.length,
  };
}

/** Bytes are those of the download; unpacking counts the same bytes once more, and is left out. */
function layerAfter(layer: Layer, status: string, detail: PullLine['progressDetail']): Layer | undefined {
  switch (status) {
    case 'Pulling fs layer':
    case 'Waiting':
    case 'Verifying Checksum':
    case 'Extracting':
      return layer;
    case 'Downloading':
      return { ...layer, currentBytes: detail?.current ?? 0, totalBytes: detail?.total ?? layer.totalBytes };
    case 'Download complete':
      return { ...layer, currentBytes: layer.totalBytes };
    case 'Pull complete':
    case 'Already exists':
      return { ...layer, currentBytes: layer.totalBytes, done: true };
    default:
      return undefined;
  }
}
