/** `unknown, because …` of the basis of a start that has no bound; a basis may say it already. */
export function unknownText(basis: string): string {
  if (basis === '') return 'unknown';
  return basis.startsWith('unknown') ? basis : `unknown, because ${basis}`;
}
