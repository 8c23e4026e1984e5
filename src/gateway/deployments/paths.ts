export const DEPLOYMENT_PREFIX = '/deployments/';

/** Of `/deployments/<name>/<rest>`: the name, and what the replica is asked, with the query. Null for any other. */
export function deploymentPath(url: string): { readonly name: string; readonly path: string } | null {
  if (!url.startsWith(DEPLOYMENT_PREFIX)) return null;
  const start = DEPLOYMENT_PREFIX.length;
  const slash = url.indexOf('/', start);
  const query = url.indexOf('?', start);
  const ends = [slash, query].filter((at) => at !== -1);
  const end = ends.length === 0 ? url.length : Math.min(...ends);
  const name = url.slice(start, end);
  const rest = url.slice(end);
  return name === '' ? null : { name, path: rest.startsWith('/') ? rest : `/${rest}` };
}
