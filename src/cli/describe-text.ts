/** An object as indented `name: value` lines: what is empty is left out, what is nested stands deeper. */
export function describeText(value: object, indent = ''): string {
  return Object.entries(value)
    .filter(([, field]) => !isEmpty(field))
    .map(([name, field]) => `${indent}${name}:${fieldText(field, indent)}`)
    .join('\n');
}

function fieldText(field: unknown, indent: string): string {
  if (Array.isArray(field)) {
    if (field.every((item) => typeof item !== 'object')) return ` ${field.join(', ')}`;
    return field.map((item) => `\n${indent}  -\n${describeText(item as object, `${indent}    `)}`).join('');
  }
  if (typeof field === 'object' && field !== null) return `\n${describeText(field, `${indent}  `)}`;
  return ` ${String(field)}`;
}

function isEmpty(field: unknown): boolean {
  if (field === null || field === undefined || field === '') return true;
  return typeof field === 'object' && Object.keys(field).length === 0;
}
