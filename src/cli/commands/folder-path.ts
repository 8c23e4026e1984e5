/** `FOLDER:path`, or `FOLDER` alone. */
export function parseFolderPath(text: string): { readonly folder: string; readonly path: string | undefined } {
  const at = text.indexOf(':');
  if (at === -1) return { folder: text, path: undefined };
  const path = text.slice(at + 1).replace(/^\/+/, '');
  return { folder: text.slice(0, at), path: path === '' ? undefined : path };
}
