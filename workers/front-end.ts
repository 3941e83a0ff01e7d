import type { MessagePort } from 'node:worker_threads'
import { openFront } from '../src/front-end.js'
import { workerLog } from '../src/log-worker.js'
import { Switches } from '../src/measure/switches.js'
import type { FrontEndTask, FrontInstruction, FrontReport, ThreadPorts } from '../src/tasks.js'

/** The thread of a front end other than the first: accepts on the shared socket until it is told to stop. */
export default async function frontEnd(task: FrontEndTask & ThreadPorts): Promise<void> {
  const { control, fd } = task
  const log = workerLog(task.log, new Switches(task.memory.measures.switches))
  const opened = await openFront(task, log, fd)
  if (!opened.ok) throw new Error(`front end ${task.frontEnd} cannot accept on the shared socket`)
  const front = opened.value
  report(control, { kind: 'ready' })
  await new Promise<void>((resolve) => {
    control.on('message', async (instruction: FrontInstruction) => {
      if (instruction.kind === 'connect') return front.connect(instruction.partition, instruction.port)
      const givenUp = await front.stop(instruction.limit_ms)
      report(control, { kind: 'stopped', givenUp })
      resolve()
    })
  })
}

function report(control: MessagePort, said: FrontReport): void {
  control.postMessage(said)
}
