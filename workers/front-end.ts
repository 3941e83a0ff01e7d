import type { MessagePort } from 'node:worker_threads'
import { remoteFeeds } from '../src/console/feeds.js'
import { followRegistry } from '../src/coordinator/registry-feed.js'
import type { AlarmReport } from '../src/log/alarm-reports.js'
import { workerLog } from '../src/log/worker-log.js'
import { parkWhenTold } from '../src/mailbox/parking.js'
import { RegistrationIndex } from '../src/registration/registration-index.js'
import { type Connectable, openFront } from '../src/runtime/front-end-assembly.js'
import {
  type FrontEndTask,
  type FrontInstruction,
  type FrontReport,
  type MainServices,
  mainServices,
  type ServicePorts,
  type ThreadPorts,
} from '../src/runtime/tasks.js'
import { unpacked } from '../src/shared-memory/packed.js'
import { Switches } from '../src/shared-memory/switches.js'
import { onMessages } from '../src/thread/messages.js'
import { remote } from '../src/thread/service.js'

/** The thread of a front end other than the first: accepts on the shared socket until it is told to stop. */
export default async function frontEnd(task: FrontEndTask & ThreadPorts & ServicePorts): Promise<void> {
  const { control } = task
  let halt: Connectable['halt'] = async () => {}
  parkWhenTold(task.parking, () => halt())
  const log = workerLog(task.log, new Switches(task.memory.measures.switches))
  let stop: (limit_ms: number) => void = () => {}
  const asked = new Promise<number>((resolve) => {
    stop = resolve
  })
  const index = new RegistrationIndex()
  for (const registration of unpacked(task.registrations)) index.put(registration)
  followRegistry(task.registryFeed, index)
  const main = remote<MainServices>(task.services, mainServices)
  const services = {
    subscriptions: main.subscriptions,
    coordinator: task.hasCoordinator ? main.coordinator : undefined,
    registry: { ...main.registry, index },
    backups: main.backups,
    cluster: task.hasCluster ? main.cluster : undefined,
    copies: main.copies,
    feeds: () => remoteFeeds(task.feeds),
    alarms: { tell: (alarm: AlarmReport) => tell(control, alarm) },
  }
  const opened = await openFront(task, services, log, (front) => {
    halt = front.halt
    connectAsTold(control, front)
  })
  if (!opened.ok) throw new Error(`front end ${task.frontEnd} cannot accept on the shared socket`)
  onMessages(control, (instruction: FrontInstruction) => {
    if (instruction.kind === 'useTls') opened.value.useTls(instruction.tls)
    else if (instruction.kind === 'useKeys') opened.value.useKeys(instruction.keys)
    else if (instruction.kind === 'streams') opened.value.connectStreams(instruction.port)
    else if (instruction.kind === 'routes') opened.value.route(instruction.routes, instruction.others)
    else if (instruction.kind === 'stop') stop(instruction.limit_ms)
  })
  tell(control, { kind: 'ready' })
  const givenUp = await opened.value.stop(await asked)
  tell(control, { kind: 'stopped', givenUp })
}

function connectAsTold(control: MessagePort, front: Connectable): void {
  onMessages(control, (instruction: FrontInstruction) => {
    if (instruction.kind === 'connect') front.connect(instruction.partition, instruction.port)
  })
}

function tell(control: MessagePort, report: FrontReport): void {
  control.postMessage(report)
}
