import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RunningBroker } from './running.js'

/** Another process that holds the write lock of a partition: its turn waits until the lock is let go. */
export interface HeldLock {
  release(): Promise<void>
}

/** Takes the write lock of a partition's folder from the broker, between two of its turns. */
export async function holdWriteLock(
  t: { teardown(end: () => unknown): void },
  partitionFolder: string,
): Promise<HeldLock> {
  const holder = spawn(process.execPath, [fileURLToPath(import.meta.url), partitionFolder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(holder, 'exit')
  const release = async (): Promise<void> => {
    holder.kill('SIGKILL')
    await ended
  }
  t.teardown(release)
  await once(holder.stdout, 'data')
  return { release }
}

/** So many notices of one change are long together. */
const sharing = 32

/**
 * Has updates of all entities applied at once, since they have notices that share what they show, so that their turns wait for a write lock;
 * nothing else waits to be applied when this resolves.
 */
export async function applyAtOnce(broker: RunningBroker, headers: Record<string, string> = {}): Promise<void> {
  const subject = { entities: [{ idPattern: '.*' }] }
  const notification = { http: { url: 'http://127.0.0.1:9' }, attrsFormat: 'legacy' }
  for (let made = 0; made < sharing; made += 1) {
    const { status } = await broker.send('POST', '/v2/subscriptions', { subject, notification }, headers)
    if (status !== 201) throw new Error(`the subscription was answered with ${status}`)
  }
  await broker.send('GET', '/v2/entities', undefined, headers)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { open } = await import('lmdb')
  const root = open({ path: process.argv[2] ?? '', noSubdir: false, maxDbs: 16, maxReaders: 1024 })
  root.transactionSync(() => {
    process.stdout.write('held\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
}
