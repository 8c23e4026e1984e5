import type { ChildSpec, ChildState, ChildStatus } from './child-spec.js';
import { adoptProcess, type RunningProcess, spawnProcess } from './running-process.js';

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 10_000;
/** A life this long was a good one: the next restart is quick again. */
const GOOD_LIFE_MS = 30_000;
const PROBE_EVERY_MS = 100;
const LOOK_EVERY_MS = 1_000;

export interface ChildContext {
  readonly logFile: string;
  /** Called after each change of `status`. */
  onChange(child: ManagedChild): void;
}

/** Keeps one process alive: starts it, sees it ready, and starts it again when it ends, until `stop()`. */
export class ManagedChild {
  readonly spec: ChildSpec;
  readonly #context: ChildContext;
  #status: ChildStatus;
  #running: RunningProcess | undefined;
  #backoffMs = BACKOFF_FIRST_MS;
  #loop: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(spec: ChildSpec, context: ChildContext) {
    this.spec = spec;
    this.#context = context;
    const { name, kind, stopRank, stopSignal, stopSeconds } = spec;
    this.#status = {
      ...{ name, kind, stopRank, stopSignal, stopSeconds, state: 'waiting', process: null, isAdopted: false },
      ...{ restarts: 0, since: new Date().toISOString(), detail: '' },
    };
  }

  get status(): ChildStatus {
    return this.#status;
  }

  /** Begins the loop; `whenReady()` tells when the first life serves. */
  start(): void {
    this.#loop ??= this.#keepAlive();
  }

  /** Resolves true when it is ready, false when that took longer than `timeoutSeconds` or it is being stopped. */
  async whenReady(timeoutSeconds: number): Promise<boolean> {
    const deadline = performance.now() + timeoutSeconds * 1000;
    while (this.#status.state !== 'ready') {
      if (performance.now() > deadline || this.#stopping.signal.aborted) return false;
      await this.#pause(50);
    }
    return true;
  }

  /** Asks it to end, and kills it when it does not. A second call waits for the first. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#running !== undefined) await this.#end(this.#running);
    await this.#loop;
    this.#set('stopped', this.#status.detail, null);
  }

  async #end(running: RunningProcess): Promise<void> {
    this.#set('stopping', `${this.spec.stopSignal} sent`);
    running.send(this.spec.stopSignal);
    const timer = setTimeout(() => running.send('SIGKILL'), this.spec.stopSeconds * 1000);
    await running.ended;
    clearTimeout(timer);
  }

  async #keepAlive(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const startedMs = performance.now();
      const how = await this.#liveOnce();
      this.#running = undefined;
      if (this.#stopping.signal.aborted) {
        this.#set('stopping', how, null);
        return;
      }
      if (performance.now() - startedMs > GOOD_LIFE_MS) this.#backoffMs = BACKOFF_FIRST_MS;
      this.#status = { ...this.#status, restarts: this.#status.restarts + 1, isAdopted: false };
      this.#set('restarting', `${how}; next start in ${this.#backoffMs} ms`, null);
      await this.#pause(this.#backoffMs);
      this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF_MAX_MS);
    }
  }

  /** One life, from start to end; resolves with how it ended. */
  async #liveOnce(): Promise<string> {
    try {
      const orphan = this.spec.findOrphan?.();
      if (orphan === undefined) await this.spec.prepare?.();
      if (this.#stopping.signal.aborted) return 'not started';
      const running =
        orphan === undefined ? await spawnProcess(this.spec, this.#context.logFile) : adoptProcess(orphan);
      this.#running = running;
      this.#status = { ...this.#status, process: running.identity, isAdopted: running.isAdopted };
      this.#set('starting', running.isAdopted ? 'taken over from an earlier supervisor' : '');
      if (this.#stopping.signal.aborted) await this.#end(running);
      await Promise.race([Promise.all([this.#untilReady(running), this.#untilLeaving(running)]), running.ended]);
      return await running.ended;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #untilReady(running: RunningProcess): Promise<void> {
    while (!(await this.spec.isReady().catch(() => false))) {
      if (this.#running !== running || this.#stopping.signal.aborted) return;
      await this.#pause(PROBE_EVERY_MS);
    }
    if (this.#running !== running || this.#stopping.signal.aborted) return;
    const problem = await this.#afterReady();
    if (this.#running !== running || this.#stopping.signal.aborted) return;
    this.#set('ready', problem ?? (running.isAdopted ? this.#status.detail : ''));
  }

  /** Another one's SIGTERM would otherwise leave a server that takes nobody new, for as long as its old clients stay. */
  async #untilLeaving(running: RunningProcess): Promise<void> {
    while (this.#running === running && !this.#stopping.signal.aborted) {
      if (await this.#isLeaving()) return running.send(this.spec.stopSignal);
      await this.#pause(LOOK_EVERY_MS);
    }
  }

  async #isLeaving(): Promise<boolean> {
    try {
      return (await this.spec.isLeaving?.()) ?? false;
    } catch {
      return false; // its file went with it, between two looks
    }
  }

  async #afterReady(): Promise<string | undefined> {
    try {
      await this.spec.afterReady?.();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #set(state: ChildState, detail: string, process = this.#status.process): void {
    const since = state === this.#status.state ? this.#status.since : new Date().toISOString();
    this.#status = { ...this.#status, state, detail, process, since };
    this.#context.onChange(this);
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#stopping.signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      this.#stopping.signal.addEventListener('abort', done, { once: true });
    });
  }
}
