import type Docker from 'dockerode';
import { hasStatus } from './engine-error.js';
import { asFailure } from './failures.js';

export interface ImageIdentity {
  /** `sha256:…` of the image's configuration: the only name of an image that was imported and never pulled. */
  readonly imageId: string;
  /** `sha256:…` of the manifest in the registry, where it came from one: equal on every node. */
  readonly digest?: string;
  readonly architecture: string;
  readonly sizeBytes: number;
}

/** What the engine holds under a tag, `name@sha256:…` or an image id; undefined when it holds nothing. */
export async function imageDigest(docker: Docker, reference: string): Promise<ImageIdentity | undefined> {
  return asFailure(async () => {
    try {
      const image = await docker.getImage(reference).inspect();
      const digest = digestFor(reference, image.RepoDigests ?? []);
      return {
        imageId: image.Id,
        ...(digest !== undefined && { digest }),
        architecture: image.Architecture,
        sizeBytes: image.Size,
      };
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  });
}

/**
 * Every name of what the engine holds, the latest made first: `name:tag` (and `name` for `:latest`), `name@sha256:…`, and
 * the image's own id.
 */
export async function imageNames(docker: Docker): Promise<readonly string[]> {
  const images = await asFailure(() => docker.listImages());
  const names = images
    .toSorted((a, b) => b.Created - a.Created || (a.Id < b.Id ? -1 : 1))
    .flatMap(({ Id, RepoTags, RepoDigests }) => [...(RepoTags ?? []).flatMap(tagNames), ...(RepoDigests ?? []), Id]);
  return [...new Set(names)].filter((name) => !name.includes('<none>') && name.length <= NAME_LENGTH_MAX);
}

const NAME_LENGTH_MAX = 512;

const tagNames = (tag: string): readonly string[] =>
  tag.endsWith(':latest') ? [tag, tag.slice(0, -':latest'.length)] : [tag];

/** An image may have come from several repositories: the one that was asked for stands, else the first. */
function digestFor(reference: string, repoDigests: readonly string[]): string | undefined {
  const repository = repositoryOf(reference);
  const chosen = repoDigests.find((entry) => entry.startsWith(`${repository}@`)) ?? repoDigests[0];
  return chosen?.slice(chosen.indexOf('@') + 1);
}

/** `host:5000/name:tag` and `name@sha256:…` without what follows the name. */
export function repositoryOf(reference: string): string {
  const [name = reference] = reference.split('@');
  const colon = name.lastIndexOf(':');
  return colon > name.lastIndexOf('/') ? name.slice(0, colon) : name;
}
