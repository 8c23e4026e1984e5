import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface TestRegistry {
  /** `127.0.0.1:<port>/berth/hello`, without a tag. */
  readonly repository: string;
  readonly digest: string;
  readonly layerRequests: () => number;
  /** Layers wait until this is called with true; they flow at first. */
  readonly flow: (open: boolean) => void;
  readonly close: () => Promise<void>;
}

export const REGISTRY_USER = { username: 'ada', password: 'enchantress-of-numbers' };
const TYPES = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
};
const digestOf = (data: Buffer): string => `sha256:${createHash('sha256').update(data).digest('hex')}`;

/** A registry of one image (`:1`, two small layers) in the real protocol; with `login`, only for REGISTRY_USER. */
export async function testRegistry({ login }: { readonly login: boolean }): Promise<TestRegistry> {
  const image = makeImage();
  const gate = makeGate();
  let layerRequests = 0;
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (login && !authorised(request)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="berth test"', 'content-type': 'application/json' });
      return void response.end('{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}');
    }
    const found = image.files.get(request.url ?? '');
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' });
      return void response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
    }
    if (found.type === TYPES.layer) {
      layerRequests += 1;
      await gate.passed();
    }
    const headers = { 'content-type': found.type, 'docker-content-digest': digestOf(found.data) };
    response.writeHead(200, { ...headers, 'content-length': found.data.length });
    response.end(request.method === 'HEAD' ? undefined : found.data);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    repository: `127.0.0.1:${(server.address() as AddressInfo).port}/berth/hello`,
    digest: image.digest,
    layerRequests: () => layerRequests,
    flow: gate.set,
    close: () => {
      gate.set(true);
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function authorised(request: IncomingMessage): boolean {
  const { username, password } = REGISTRY_USER;
  return request.headers.authorization === `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function makeGate() {
  let open = true;
  const waiting: (() => void)[] = [];
  return {
    set: (wanted: boolean): void => {
      open = wanted;
      if (open) for (const pass of waiting.splice(0)) pass();
    },
    passed: (): Promise<void> => (open ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve))),
  };
}

interface File {
  readonly type: string;
  readonly data: Buffer;
}

/** Contents differ on each call, so that no earlier test has left its layers in the engine. */
function makeImage(): { readonly digest: string; readonly files: ReadonlyMap<string, File> } {
  const salt = `${process.pid} ${process.hrtime.bigint()}`;
  const tars = ['one', 'two'].map((name) => tarOf(name, Buffer.from(`${salt} ${name} ${'x'.repeat(50_000)}`)));
  const layers = tars.map((tar) => ({ type: TYPES.layer, data: gzipSync(tar) }));
  const rootfs = { type: 'layers', diff_ids: tars.map(digestOf) };
  const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
  const config = { type: TYPES.config, data: json({ architecture: 'amd64', os: 'linux', config: {}, rootfs }) };
  const entry = ({ type, data }: File) => ({ mediaType: type, size: data.length, digest: digestOf(data) });
  const content = { schemaVersion: 2, mediaType: TYPES.manifest, config: entry(config), layers: layers.map(entry) };
  const manifest = { type: TYPES.manifest, data: json(content) };
  const base = '/v2/berth/hello';
  return {
    digest: digestOf(manifest.data),
    files: new Map<string, File>([
      ['/v2/', { type: 'application/json', data: Buffer.from('{}') }],
      [`${base}/manifests/1`, manifest],
      [`${base}/manifests/${digestOf(manifest.data)}`, manifest],
      ...[config, ...layers].map((file): [string, File] => [`${base}/blobs/${digestOf(file.data)}`, file]),
    ]),
  };
}

/** A tar archive of one file: a header of 512 bytes, the data filled up to 512, two empty blocks. */
function tarOf(name: string, data: Buffer): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${data.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, data, Buffer.alloc((512 - (data.length % 512)) % 512), Buffer.alloc(1024)]);
}
