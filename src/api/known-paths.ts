import { ROUTES, type Route } from '../contract/index.js';

const PATTERNS: readonly { readonly method: string; readonly pattern: RegExp }[] = Object.values<Route>(ROUTES).map(
  ({ method, path }) => ({ method, pattern: new RegExp(`^${path.replace(/:[a-z]+/gi, '[^/]+')}/?$`) }),
);

/** The methods that a path takes; empty for a path that is not in the table. */
export function methodsOf(url: string): readonly string[] {
  const path = url.replace(/[?#].*$/, '');
  return PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
}
