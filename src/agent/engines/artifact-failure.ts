/** An artifact cannot be had. `claim`: another request is what mends it; `node`: it may be had elsewhere or later. */
export class ArtifactFailure extends Error {
  override readonly name = 'ArtifactFailure';
  readonly whose: 'node' | 'claim';
  constructor(message: string, whose: 'node' | 'claim', cause?: unknown) {
    super(message, { cause });
    this.whose = whose;
  }
}
