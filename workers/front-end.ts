import { remoteFeeds } from '../src/api/console/feeds.js'
import { RegistrationIndex } from '../src/model/registration/registration-index.js'
import { workerLog } from '../src/observe/log/worker-log.js'
import { type Connectable, openFront, type RunningFrontEnd } from '../src/runtime/front-end-assembly.js'
import {
  type FrontEndTask,
  type FrontEvents,
  type FrontOperations,
  type FrontPorts,
  frontEvents,
  frontOperations,
  mainLimit_ms,
  type ThreadPorts,
} from '../src/runtime/tasks.js'
import { linkOver } from '../src/threads/calls/link.js'
import { parkWhenTold } from '../src/threads/calls/parking.js'
import { methodsOf } from '../src/threads/calls/service.js'
import { unpacked } from '../src/threads/shared-memory/packed.js'
import { Switches } from '../src/threads/shared-memory/switches.js'

/** The thread of a front end other than the first: accepts on the shared socket until it is told to stop. */
export default async function frontEnd(task: FrontEndTask & ThreadPorts & FrontPorts): Promise<void> {
  const { control } = task
  let halt: Connectable['halt'] = async () => {}
  parkWhenTold(task.parking, () => halt())
  const log = workerLog(task.log, new Switches(task.memory.measures.switches))
  const connectable = later<Connectable>()
  const running = later<RunningFrontEnd>()
  const over = later<undefined>()
  const index = new RegistrationIndex()
  for (const registration of unpacked(task.registrations)) index.put(registration)
  const whenRunning = (change: (front: RunningFrontEnd) => void): void => void running.promise.then(change)
  const operations: FrontOperations = {
    opened: async () => {
      await running.promise
    },
    connect: (partition, port) => void connectable.promise.then((front) => front.connect(partition, port)),
    registrations: async (changes) => index.apply(changes),
    useTls: (tls) => whenRunning((front) => front.useTls(tls)),
    useKeys: (keys) => whenRunning((front) => front.useKeys(keys)),
    route: (routes, others) => whenRunning((front) => front.route(routes, others)),
    connectStreams: (port) => whenRunning((front) => front.connectStreams(port)),
    stop: async (limit_ms) => (await running.promise).stop(limit_ms),
    close: async () => {
      await (await running.promise).close()
      setImmediate(() => over.resolve(undefined)) // After the response.
    },
  }
  const offered = methodsOf(operations, frontOperations)
  const main = linkOver<FrontEvents>(control, frontEvents, offered, mainLimit_ms)
  const services = {
    subscriptions: main.subscriptions,
    coordinator: task.nodes ? main.coordinator : undefined,
    registry: { ...main.registry, index },
    backups: main.backups,
    cluster: task.nodes ? main.cluster : undefined,
    transfers: main.transfers,
    feeds: () => remoteFeeds(task.feeds),
    alarms: { tell: main.alarm },
  }
  const opened = await openFront(task, services, log, (front) => {
    halt = front.halt
    connectable.resolve(front)
  })
  if (!opened.ok) throw new Error(`front end ${task.frontEnd} cannot accept on the shared socket`)
  running.resolve(opened.value)
  await over.promise
}

/** A promise with its resolver; waiters continue in their order. */
function later<Value>(): { readonly promise: Promise<Value>; readonly resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((take) => {
    resolve = take
  })
  return { promise, resolve }
}
