import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

/** Why no log is flushed by sonic-boom: when this fails, `flushSync` may take the place of the flush with a limit. */
test("sonic-boom's flushSync does not return once the reader of its pipe has gone", async (t) => {
  const script = fileURLToPath(new URL('./flush-process.js', import.meta.url))
  const writer = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'pipe'] })
  t.teardown(() => writer.kill('SIGKILL'))
  await once(writer.stderr, 'data')
  writer.stdout.destroy()
  await once(writer.stdout, 'close')
  writer.stdin.end('end\n')
  const [output] = await once(writer.stderr, 'data')
  t.equal(String(output), 'flushing\n')
  const ended = await Promise.race([
    once(writer, 'exit').then(() => true),
    new Promise((resolve) => setTimeout(resolve, 1000, false)),
  ])
  t.equal(ended, false)
})
