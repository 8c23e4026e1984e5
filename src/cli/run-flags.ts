import type { Command } from 'commander';

const collect = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];

/** What it runs, and with what. */
const withContainer = (command: Command): Command =>
  command
    .option('--gpus <[model:]n>', 'whole GPUs, of a model when it is named')
    .option('--gpu-mem <bytes>', "a share of one GPU's memory: 12Gi")
    .option('--gpu-mem-limit <bytes>', 'the most that the share may use; --gpu-mem when omitted')
    .option('--gpu-model <model>', 'only GPUs of this model')
    .option('--cpu <cores>', 'cores: 2, 0.5 or 500m', '1')
    .option('--mem <bytes>', 'memory: 8Gi, 512Mi', '1Gi')
    .option('-v, --volume <folder:/path[:ro]>', 'mount a folder', collect)
    .option('-p, --port <[name:]port>', 'open a port of the container', collect)
    .option('-e, --env <name=value>', 'environment; NAME alone takes it from here', collect)
    .option('--entrypoint <program>', "instead of the image's entrypoint")
    .option('--workdir <path>', 'working directory in the container')
    .option('--health-path <path>', 'it is healthy when this path answers 2xx')
    .option('--health-port <port>', 'port of the health check');

/** Whose it is, and how it is called. */
const withOwner = (command: Command): Command =>
  command
    .option('--name <name>', 'unique among your open sessions of the project')
    .option('--kind <kind>', 'batch, interactive, inference or system', 'batch')
    .option('--project <project>', 'whose quota it counts for')
    .option('--group <group>', 'resource group')
    .option('--budget <path>', 'whose GPU-time it uses, where the group orders by fair share: research/nlp')
    .option('--label <key=value>', 'label', collect);

/** When it runs, and for how long. */
const withTimes = (command: Command): Command =>
  command
    .option('--priority <0-100>', 'higher goes first; 10 when omitted')
    .option('--starts-at <moment>', 'not before 18:00, +2h or 2026-11-30T18:00:00Z')
    .option('--depends-on <name[:cancel|fail|ignore]>', 'after this session succeeded; else it is cancelled', collect)
    .option('--min-runtime <time>', 'once it runs, nobody stops it before 30s, 10m, 2h …; charged to the budget')
    .option('--max-runtime <time>', 'ends it after 10m, 2h …; others can then be told when they start')
    .option('--start-deadline <time>', 'from placed to running, pull included');

/** How it is stopped for others, and tried again. */
const withStops = (command: Command): Command =>
  command
    .option('--preemptible', 'may be stopped for others where the group allows it')
    .option('--no-preemptible', 'may not')
    .option('--resumable', 'goes on from a checkpoint when it is started again')
    .option('--checkpoint <command>', 'run by sh -c in the main kernel when it will be stopped')
    .option('--notice-signal <signal>', 'sent when it will be stopped; SIGTERM when omitted')
    .option(
      '--idle-exempt <criterion>',
      'never idle by utilization, network or lifetime, where the group honours that',
      collect,
    )
    .option('--grace <time>', 'between that notice, or SIGTERM, and SIGKILL')
    .option('--retries <n>', 'tries after a failure of the platform; 2 when omitted, 0 for none');

/** Where it runs. */
const withPlace = (command: Command): Command =>
  command
    .option('--workers <n>', 'kernels beside the main one, each with the same slots')
    .option('--multi-node', 'kernels may lie on different nodes')
    .option('--node <name>', 'rather on this node', collect)
    .option('--require-node <name>', 'only on this node, or another that is named so', collect)
    .option('--zone <zone>', 'rather in this zone')
    .option('--require-zone <zone>', 'only in this zone')
    .option('--spread <group>', 'away from the other sessions of this replica group')
    .option('--pack <group>', 'close to the other sessions of this replica group');

/** What `berth run` does with it. */
const withHandling = (command: Command): Command =>
  command
    .option('-d, --detach', 'print the name and return')
    .option('--rm', 'accepted for docker users; a session that ended holds nothing')
    .option('--no-wait-requeue', 'when it is preempted and goes back to the queue: exit with 75')
    .option('--dry-run', 'say what it would get; changes nothing');

/** The options of `berth run`, in the order in which its help tells them. */
export const withRunFlags = (command: Command): Command =>
  [withContainer, withOwner, withTimes, withStops, withPlace, withHandling].reduce((next, add) => add(next), command);
