import type { ModelRoute } from '../../store/model-store.js';
import { leastInFlight } from './least-in-flight.js';
import type { Target, TargetPlace } from './target.js';

/** A model in the gateway's memory: its route as it is now, and what this process has to do with it. */
export class ModelEntry {
  route: ModelRoute;
  targets: readonly Target[] = [];
  /** When its wake, or a request for it, was last told. */
  askedMs = 0;
  #firstAskedMs: number | null = null;
  #next = 0;

  constructor(route: ModelRoute) {
    this.route = route;
  }

  /** Takes a route that was read anew; answers the targets that are no longer in it. `make` finds one that was in it before. */
  take(route: ModelRoute, make: (place: TargetPlace) => Target): readonly Target[] {
    this.route = route;
    if (route.serving !== 'EngineSleeping') this.#firstAskedMs = null;
    if (isSame(this.targets, route.targets)) return [];
    const before = this.targets;
    this.targets = route.targets.map((place) => before.find(isAt(place)) ?? make(place));
    return before.filter((target) => !this.targets.includes(target));
  }

  /** Since when its start or wake goes on, in ms since 1970: one that sleeps begins to wake when it is first asked for. */
  waitsSince(nowMs: number): number {
    const { serving, phaseSinceMs } = this.route;
    return serving === 'EngineSleeping' ? Math.max(phaseSinceMs, this.#firstAskedMs ?? nowMs) : phaseSinceMs;
  }

  asked(nowMs: number): void {
    this.askedMs = nowMs;
    this.#firstAskedMs ??= nowMs;
  }

  /** A request for it that nothing serves now. */
  missed(): void {}

  get isServing(): boolean {
    return this.route.serving === 'Active' && this.targets.length > 0;
  }

  /** The one with the least under way, of those that take connections; equals take turns. */
  pick(nowMs: number): Target | null {
    const { length } = this.targets;
    const best = leastInFlight(this.targets, this.#next, nowMs);
    this.#next = length > 1 ? (this.#next + 1) % length : 0;
    return best;
  }
}

const isAt =
  (place: TargetPlace) =>
  (target: Target): boolean =>
    target.isAt(place);

const isSame = (targets: readonly Target[], places: readonly TargetPlace[]): boolean =>
  targets.length === places.length &&
  targets.every((target, index) => {
    const place = places[index];
    return place !== undefined && isAt(place)(target);
  });
