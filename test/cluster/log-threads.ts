import { MessageChannel } from 'node:worker_threads'
import type { Test } from 'tap'
import { Measures } from '../../src/observe/measure/measures.js'
import type { LogName } from '../../src/storage/etcd/engine.js'
import type { LogLinkEnd } from '../../src/storage/etcd/log-link.js'
import { newLogLink } from '../../src/storage/etcd/log-link.js'
import { type LogEvents, type LogOperations, logEvents, logOperations } from '../../src/storage/etcd/log-thread.js'
import { LinkedThread } from '../../src/threads/calls/linked-thread.js'
import { methodsOf } from '../../src/threads/calls/service.js'
import type { EtcdMembers } from './etcd-members.js'

/** Starts the thread that brokers have for the logs of their cluster; it ends with the test. */
export async function startedLogThread(
  t: Test,
  etcd: EtcdMembers,
  prefix: string,
  node: string,
): Promise<LogOperations> {
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
  const { port1, port2 } = new MessageChannel()
  const { switches, engine, replicas } = measures.memory
  const task = {
    ...{ etcd: { urls: etcd.urls }, prefix, node, heldMost_bytes: 2 ** 26 },
    ...{ switches, measures: engine, replicas, log: port2 },
  }
  const entry = new URL('../../workers/log.js', import.meta.url)
  const unheard = (): void => {}
  const events: LogEvents = {
    ...{ nodes: unheard, members: unheard, engineUrls: unheard, isMember: unheard, givenUp: unheard },
    taken: unheard,
  }
  const thread = new LinkedThread({
    ...{ entry, task, transfer: [port2] },
    ...{ far: logOperations, offered: methodsOf(events, logEvents) },
  })
  t.teardown(async () => {
    thread.far.end()
    await thread.ended
    port1.close()
    await thread.close()
  })
  return thread.far
}

/** A new link to a log that the thread serves. */
export function linkTo(thread: LogOperations, log: LogName, node: string): LogLinkEnd {
  const { writer, server } = newLogLink(log, node)
  const { port, ...end } = server
  thread.serve(port, end)
  return writer
}
