const COMPILED = Symbol('sql');

/** A statement with its parameters kept apart: values never become text. */
export interface Sql {
  readonly [COMPILED]: true;
  readonly parts: readonly string[];
  readonly values: readonly unknown[];
}

const isSql = (value: unknown): value is Sql => typeof value === 'object' && value !== null && COMPILED in value;

/** ``sql`SELECT … WHERE id = ${id}` ``; a nested `sql` is spliced in, everything else becomes a parameter. */
export function sql(strings: TemplateStringsArray, ...values: readonly unknown[]): Sql {
  const parts: string[] = [strings[0] ?? ''];
  const flat: unknown[] = [];
  values.forEach((value, index) => {
    const after = strings[index + 1] ?? '';
    if (isSql(value)) {
      parts[parts.length - 1] += value.parts[0] ?? '';
      flat.push(...value.values);
      parts.push(...value.parts.slice(1));
      parts[parts.length - 1] += after;
    } else {
      flat.push(value);
      parts.push(after);
    }
  });
  return { [COMPILED]: true, parts, values: flat };
}

/** Conditions that all hold; none means true. */
export const allOf = (conditions: readonly Sql[]): Sql =>
  conditions.reduce((joined, next) => sql`${joined} AND ${next}`, sql`true`);

export const compile = (statement: Sql): { text: string; values: unknown[] } => ({
  text: statement.parts.reduce((text, part, index) => (index === 0 ? part : `${text}$${index}${part}`), ''),
  values: [...statement.values],
});

/** A JSON parameter: the driver would take an array for a Postgres array. */
export const json = (value: unknown): string => JSON.stringify(value);
