type Json = Readonly<Record<string, unknown>>;

const REF = '#/components/schemas/';

function refsIn(value: unknown, into: Set<string>): Set<string> {
  if (typeof value !== 'object' || value === null) return into;
  for (const [key, child] of Object.entries(value)) {
    if (key === '$ref' && typeof child === 'string' && child.startsWith(REF)) into.add(child.slice(REF.length));
    else refsIn(child, into);
  }
  return into;
}

/** Schemas that something in `roots` needs, at any distance. */
function needed(roots: unknown, schemas: Json): ReadonlySet<string> {
  const seen = new Set<string>();
  let edge = refsIn(roots, new Set());
  while (edge.size > 0) {
    for (const name of edge) seen.add(name);
    const next = new Set<string>();
    for (const name of edge) refsIn(schemas[name], next);
    edge = new Set([...next].filter((name) => !seen.has(name)));
  }
  return seen;
}

const INPUT = 'Input';
const withoutInput = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/("#\/components\/schemas\/\w+?)Input"/g, '$1"');

/** `XInput` may be called `X` when nothing else is, or when the two are the same. */
function renames(schemas: Json): ReadonlyMap<string, string> {
  const names = Object.keys(schemas).filter((name) => name.endsWith(INPUT));
  const plain = names.map((name) => [name, name.slice(0, -INPUT.length)] as const);
  return new Map(
    plain.filter(
      ([name, short]) => schemas[short] === undefined || withoutInput(schemas[short]) === withoutInput(schemas[name]),
    ),
  );
}

function renamed<T>(value: T, names: ReadonlyMap<string, string>): T {
  const text = JSON.stringify(value).replaceAll(/"#\/components\/schemas\/(\w+)"/g, (whole, name: string) =>
    names.has(name) ? `"${REF}${names.get(name)}"` : whole,
  );
  return JSON.parse(text) as T;
}

/** Drops component schemas that no operation needs, and the `XInput` twin of each `X` where one name serves. */
export function pruneSchemas<Document>(document: Document): Document {
  const { components, ...roots } = document as { components?: { schemas?: Json } };
  const all = components?.schemas;
  if (all === undefined) return document;
  const keep = needed(roots, all);
  const kept = Object.fromEntries(Object.entries(all).filter(([name]) => keep.has(name)));
  const names = renames(kept);
  const schemas = Object.entries(kept)
    .map(([name, schema]) => [names.get(name) ?? name, schema] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return renamed({ ...document, components: { ...components, schemas: Object.fromEntries(schemas) } }, names);
}
