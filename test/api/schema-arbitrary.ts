import fc from 'fast-check';

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
}

/** What a careless or hostile client sends in any place. */
const NAUGHTY: readonly unknown[] = [
  null,
  true,
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '../../etc/passwd',
  '%00',
  "'; DROP TABLE sessions; --",
  '💥'.repeat(100),
  'x'.repeat(10_000),
  -1,
  0.5,
  1e12,
  2 ** 53,
  -(2 ** 53),
  1e300,
  [],
  {},
  [[[]]],
  { a: { b: {} } },
  'NaN',
  '0x10',
  '1e9',
  'ses_00000000000000000000000000',
  '2026-13-45T99:99:99Z',
  '0001-01-01T00:00:00Z',
  '+275760-09-13T00:00:00Z',
];
export const naughty: fc.Arbitrary<unknown> = fc.oneof(fc.constantFrom(...NAUGHTY), fc.jsonValue({ maxDepth: 3 }));

/** Strings that fit the patterns of names, ids and paths now and then: a matching value reaches the database. */
const WORDS = [
  'main',
  'default',
  'bob',
  'node-1',
  'a',
  'ended',
  'busybox:1',
  '/data',
  'f1',
  'sim-24',
  '2026-11-30T13:00:00Z',
  'http://127.0.0.1:9',
  'krn_01m8p400000000000000000000',
  'ses_01m8p400000000000000000000',
  'A_B',
  'x86',
];
const text = (): fc.Arbitrary<unknown> =>
  fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 20, unit: 'binary' }), fc.string({ maxLength: 12 }));

const numbers = ({ minimum = 0, maximum = 2 ** 31 }: JsonSchema): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.integer({ min: Math.ceil(minimum), max: Math.floor(Math.min(maximum, 2 ** 31)) }),
    fc.constantFrom(minimum, maximum),
  );

function objects(schema: JsonSchema, resolve: Resolve, depth: number): fc.Arbitrary<unknown> {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0 && typeof schema.additionalProperties === 'object') {
    return fc.dictionary(text().map(String), arbitraryOf(schema.additionalProperties, resolve, depth + 1), {
      maxKeys: 3,
    });
  }
  const shape = Object.fromEntries(fields.map(([name, field]) => [name, arbitraryOf(field, resolve, depth + 1)]));
  const required = (schema.required ?? []).filter((name) => name in shape);
  return fc.record(shape, { requiredKeys: required });
}

type Resolve = (ref: string) => JsonSchema;

function fitting(schema: JsonSchema, resolve: Resolve, depth: number): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return fitting(resolve(schema.$ref), resolve, depth);
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return fc.oneof(...options.map((option) => arbitraryOf(option, resolve, depth)));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  switch (schema.type) {
    case 'object':
      return objects(schema, resolve, depth);
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}, resolve, depth + 1), {
        minLength: schema.minItems ?? 0,
        maxLength: 3,
      });
    case 'string':
      return text();
    case 'integer':
    case 'number':
      return numbers(schema);
    case 'boolean':
      return fc.boolean();
    default:
      return naughty;
  }
}

/** Mostly what the schema asks for; one value in a dozen, at any depth, is garbage instead. */
export function arbitraryOf(schema: JsonSchema, resolve: Resolve, depth = 0): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 11, arbitrary: fitting(schema, resolve, depth) }, { weight: 1, arbitrary: naughty });
}
