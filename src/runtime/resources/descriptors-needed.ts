import { defaultPermits } from '../../broker/providers/providers.js'
import type { Options } from '../../flags/settings.js'
import type { Descriptors } from '../../machine.js'
import { err, ok, type Result } from '../../result.js'

/** The flags by which the broker has files, connections and threads open. */
type DescriptorFlags = Pick<Options, 'httpThreads' | 'queryThreads' | 'maxConnections'> & {
  readonly cluster: object | undefined
  readonly notifications: Pick<Options['notifications'], 'total' | 'mode'>
}

/** How much each part of the broker may do at a time with the descriptors that there are. */
export interface DescriptorShares {
  /** Connections of clients. */
  readonly connections: number
  /** Attempts to notify. */
  readonly attempts: number
  /** Requests to context providers, per front end. */
  readonly forwards: number
}

interface SharesThereAre extends DescriptorShares {
  /** For the operator, when the descriptors allow less than the flags. */
  readonly warning: string | undefined
}

/** The courier, and the coordinator's files; with what Node opens when a part of the program is loaded. */
const program = 24
const partition = 14
const httpThread = 8
const queryThread = 4
/** The connections of a front end with other nodes. */
const linkOfThread = 32
/** What is open for a moment: names that are looked up, files of backups, a log that is opened anew, connections that are refused. */
const momentary = 32

/** An attempt, a response whose body is still read, and an idle connection each over HTTP and MQTT. */
const perAttempt = 4
/** A request, and an idle connection. */
const perForward = 2

/** With fewer connections than this nobody could be served. */
const leastConnections = 8

/** The part of what the broker itself leaves that notifications, and requests to providers, have in any case. */
const outgoingPart = 1 / 4

/**
 * Divides the descriptors that the process may have. The broker's own files and threads come first, since what is stored depends on them;
 * of the rest half is for clients, and a quarter each for notifications and for requests to providers. What one of them does not need
 * the others have. Refuses, for the operator, when there are too few for one of each. Where the system does not say how many there may
 * be, all is allowed that the flags allow.
 */
export function descriptorShares(
  flags: DescriptorFlags,
  partitions: number,
  thereAre: Descriptors | undefined,
): Result<SharesThereAre, string> {
  const most = mostShares(flags)
  if (thereAre === undefined) return ok({ ...most, warning: undefined })
  const { limit, open } = thereAre
  const { httpThreads } = flags
  const perForwards = httpThreads * perForward
  const rest = limit - open - ownDescriptors(flags, partitions)
  const missing = leastConnections + perAttempt + perForwards - rest
  if (missing > 0) {
    return err(
      `the process may have ${limit} open files, and needs ${limit + missing} at least: raise the limit (ulimit -n)`,
    )
  }
  const reserved = Math.floor(rest * outgoingPart)
  const attemptsKept = share(most.attempts, reserved, perAttempt)
  const forwardsKept = share(most.forwards, reserved, perForwards)
  const connections = share(most.connections, rest - attemptsKept * perAttempt - forwardsKept * perForwards, 1)
  const outgoing = rest - connections
  const attempts = share(most.attempts, outgoing - forwardsKept * perForwards, perAttempt)
  const forwards = share(most.forwards, outgoing - attempts * perAttempt, perForwards)
  const shares = { connections, attempts, forwards }
  return ok({ ...shares, warning: warningOf(flags, partitions, shares, thereAre) })
}

function warningOf(
  flags: DescriptorFlags,
  partitions: number,
  shares: DescriptorShares,
  { limit, open }: Descriptors,
): string | undefined {
  const most = mostShares(flags)
  const lowered = [
    shares.connections < most.connections &&
      `${shares.connections} connections at a time instead of ${most.connections} (-maxConnections)`,
    shares.attempts < most.attempts &&
      `${shares.attempts} attempts to notify instead of ${most.attempts} (-notifTotal)`,
    shares.forwards < most.forwards &&
      `${shares.forwards} requests of each HTTP thread to context providers instead of ${most.forwards}`,
  ].filter((part) => part !== false)
  if (lowered.length === 0) return undefined
  const { connections, attempts, forwards } = most
  const all = connections + attempts * perAttempt + forwards * flags.httpThreads * perForward
  const needed = open + ownDescriptors(flags, partitions) + all
  return `${lowered.join(', ')}: the process may have ${limit} open files, raise the limit to ${needed} (ulimit -n)`
}

/** The options with what the shares lower. */
export function withinShares(options: Options, { connections, attempts }: DescriptorShares): Options {
  const { notifications } = options
  const mode =
    notifications.mode.kind === 'threadpool' ? { ...notifications.mode, total: attempts } : notifications.mode
  return { ...options, maxConnections: connections, notifications: { ...notifications, total: attempts, mode } }
}

/** What the flags allow, whatever descriptors there are. */
function mostShares({ maxConnections, notifications }: DescriptorFlags): DescriptorShares {
  const { mode, total } = notifications
  const attempts = (mode.kind === 'threadpool' ? mode.total : undefined) ?? total
  return { connections: maxConnections, attempts, forwards: defaultPermits.total }
}

/** What the broker still opens when it begins to open its stores, whatever clients do. */
function ownDescriptors({ httpThreads, queryThreads, cluster }: DescriptorFlags, partitions: number): number {
  const threads = httpThreads * (httpThread + queryThreads * queryThread + (cluster === undefined ? 0 : linkOfThread))
  return program + partitions * partition + threads + momentary
}

function share(most: number, descriptors: number, each: number): number {
  return Math.max(1, Math.min(most, Math.floor(descriptors / each)))
}
