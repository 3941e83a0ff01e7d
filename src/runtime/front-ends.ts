import { MessageChannel } from 'node:worker_threads'
import { type Feeds, serveFeeds } from '../api/console/feeds.js'
import type { NodeAddress } from '../cluster/membership/route-table.js'
import type { RegistrationIndex } from '../model/registration/registration-index.js'
import type { MainLog } from '../observe/log/main-log.js'
import type { Route } from '../storage/etcd/node-facts.js'
import { LinkedThread } from '../threads/calls/linked-thread.js'
import { methodsOf } from '../threads/calls/service.js'
import { packed } from '../threads/shared-memory/packed.js'
import {
  type FrontEndTask,
  type FrontEvents,
  type FrontOperations,
  type FrontPorts,
  frontEvents,
  frontOperations,
  type ThreadPorts,
} from './tasks.js'

/** What the main thread tells each front end; the last two only those that accept. */
type FrontChanges = Pick<FrontOperations, 'route' | 'useTls' | 'useKeys' | 'stop' | 'close'>

type FrontThread = LinkedThread<FrontEndTask & Pick<ThreadPorts, 'log'> & FrontPorts, FrontOperations>

/** What a front end in a thread of its own needs of the main thread. */
interface ThreadSurroundings {
  readonly log: MainLog
  readonly events: FrontEvents
  readonly feeds: Feeds
  /** Copied when the thread is started. */
  readonly registrations: RegistrationIndex
  /** See `LinkedThread`. */
  readonly begins: () => () => void
  /** Told when the thread is started, before it accepts; `ended` settles when it has ended. */
  readonly started: (far: FrontOperations, ended: Promise<void>) => void
  /** Gets the reason why the thread has died. */
  readonly fatal: (reason: string) => void
}

/** All front ends of the broker: the first in the main thread, the others in threads of their own. */
export class FrontEnds implements FrontChanges {
  readonly #all = new Set<FrontChanges>()
  /** Those that accept. */
  readonly #accepting: FrontChanges[] = []
  readonly #threads = new Set<FrontThread>()
  #routed: readonly [routes: readonly Route[], others: readonly NodeAddress[]] | undefined

  /** Adds one that accepts already, which runs in this thread. */
  addRunning(front: FrontChanges): void {
    this.#add(front)
    this.#accepting.push(front)
  }

  /** Starts a front end in a thread of its own; resolves when it accepts. */
  async start(task: FrontEndTask, surroundings: ThreadSurroundings): Promise<FrontOperations> {
    const { events, registrations, begins, started, fatal } = surroundings
    const [log, feeds] = [new MessageChannel(), new MessageChannel()]
    surroundings.log.take(log.port1)
    serveFeeds(feeds.port1, surroundings.feeds)
    const thread: FrontThread = new LinkedThread({
      entry: new URL('../../workers/front-end.js', import.meta.url),
      task: { ...task, log: log.port2, feeds: feeds.port2, registrations: packed([...registrations.all()]) },
      transfer: [log.port2, feeds.port2],
      far: frontOperations,
      offered: methodsOf(events, frontEvents),
      begins,
    })
    const { far, ended } = thread
    started(far, ended)
    this.#threads.add(thread)
    this.#add(far)
    ended.catch((fault: unknown) => fatal(`front end ${task.frontEnd} failed: ${String(fault)}`))
    await far.opened()
    this.#accepting.push(far)
    return far
  }

  /** A front end gets the current routes at once, since it may have been made with older ones, and all later changes. */
  #add(front: FrontChanges): void {
    this.#all.add(front)
    if (this.#routed !== undefined) front.route(...this.#routed)
  }

  route(routes: readonly Route[], others: readonly NodeAddress[]): void {
    this.#routed = [routes, others]
    for (const front of this.#all) front.route(routes, others)
  }

  useTls(tls: Parameters<FrontChanges['useTls']>[0]): void {
    for (const front of this.#all) front.useTls(tls)
  }

  useKeys(keys: Parameters<FrontChanges['useKeys']>[0]): void {
    for (const front of this.#all) front.useKeys(keys)
  }

  /** Ends the requests of those that accept; gives the number of those that were given up at the limit. */
  async stop(limit_ms: number): Promise<number> {
    const given = await Promise.all(this.#accepting.map((front) => front.stop(limit_ms)))
    return given.reduce((sum, each) => sum + each, 0)
  }

  /** After they have stopped: ends them and their threads. */
  async close(): Promise<void> {
    await Promise.all(this.#accepting.map((front) => front.close()))
  }

  /** Makes all threads sleep, also those that are still starting. */
  async park(): Promise<void> {
    await Promise.allSettled([...this.#threads].map((thread) => thread.park()))
  }
}
