import { MessageChannel } from 'node:worker_threads'
import type { Test } from 'tap'
import type { LogInstruction, LogReport, LogTask } from '../../src/cluster/log-thread.js'
import { ActorThread } from '../../src/mailbox/thread.js'
import { Measures } from '../../src/measure/measures.js'
import type { EtcdMembers } from './etcd-members.js'

type Thread = ActorThread<LogTask & { readonly log: MessageChannel['port1'] }, LogReport>

/** The thread that brokers have for the logs of their cluster. */
export interface LogThread {
  tell(instruction: LogInstruction, transfer?: Parameters<Thread['tell']>[1]): void
  readonly next: Thread['next']
}

/** Starts one that ends with the test. */
export async function startedLogThread(t: Test, etcd: EtcdMembers, prefix: string, node: string): Promise<LogThread> {
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
  const { port1, port2 } = new MessageChannel()
  const { switches, engine, copies } = measures.memory
  const task = {
    ...{ etcd: { urls: etcd.urls }, prefix, node, heldMost_bytes: 2 ** 26 },
    ...{ switches, measures: engine, copies, log: port2 },
  }
  const entry = new URL('../../workers/log.js', import.meta.url)
  const thread: Thread = new ActorThread({ entry, task, transfer: [port2] })
  const tell: LogThread['tell'] = (instruction, transfer = []) => thread.tell(instruction, transfer)
  t.teardown(async () => {
    tell({ kind: 'end' })
    await thread.ended
    port1.close()
    await thread.close()
  })
  await thread.ready
  return { tell, next: (kind) => thread.next(kind) }
}
