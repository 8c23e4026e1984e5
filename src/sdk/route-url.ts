/** Path and query of a call. Each parameter is one path element, whatever characters it holds. */
export function routeUrl(
  path: string,
  params: Readonly<Record<string, string | number>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const filled = path.replaceAll(/:([a-zA-Z]+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined || value === '') throw new TypeError(`${path} needs "${name}"`);
    return encodeURIComponent(value);
  });
  const search = searchOf(query);
  return search === '' ? filled : `${filled}?${search}`;
}

function searchOf(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const values = (Array.isArray(value) ? value : [value]) as readonly (
      | string
      | number
      | boolean
      | null
      | undefined
    )[];
    for (const one of values) if (one !== undefined && one !== null) search.append(name, String(one));
  }
  return search.toString();
}
