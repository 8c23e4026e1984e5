/** Paths of OpenAI's protocol. `:id` may hold slashes, as model names do. */
export type ModelPath =
  | { readonly kind: 'list' }
  | { readonly kind: 'get'; readonly modelName: string }
  | { readonly kind: 'ask'; readonly path: string; readonly hasUsageOption: boolean }
  | { readonly kind: 'none' };

export const MODEL_PREFIX = '/v1/';
const ONE = '/v1/models/';
const NONE: ModelPath = { kind: 'none' };
const LIST: ModelPath = { kind: 'list' };
/** Embeddings have no streams. */
const ASKED: ReadonlyMap<string, ModelPath> = new Map(
  [
    { path: '/v1/chat/completions', hasUsageOption: true },
    { path: '/v1/completions', hasUsageOption: true },
    { path: '/v1/embeddings', hasUsageOption: false },
  ].map((asked) => [asked.path, { kind: 'ask', ...asked }]),
);

export function modelPath(url: string): ModelPath {
  const known = ASKED.get(url);
  if (known !== undefined) return known;
  const query = url.indexOf('?');
  if (query !== -1) return modelPath(url.slice(0, query));
  if (url === '/v1/models' || url === ONE) return LIST;
  return url.startsWith(ONE) ? named(url.slice(ONE.length)) : NONE;
}

function named(text: string): ModelPath {
  try {
    return { kind: 'get', modelName: decodeURIComponent(text) };
  } catch {
    return NONE;
  }
}
