import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { freePort } from '../../bench/free-port.js'

test('a free port can be listened on, and again by the next process', async (t) => {
  const port = await freePort()
  for (let start = 0; start < 2; start += 1) {
    const server = createServer().listen(port)
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
  }
  t.ok(port < 32_768, 'no port that a system gives to those who name none')
})

test('no port is given twice, in this process or in another, while the first process lives', async (t) => {
  // So many that some would surely come twice if nothing reserved them.
  const here = await manyPorts(500)
  t.equal(new Set(here).size, here.length)
  const script = fileURLToPath(new URL('../../bench/free-port.js', import.meta.url))
  const program = `
    const { freePort } = await import(${JSON.stringify(script)})
    const ports = []
    while (ports.length < 200) ports.push(await freePort())
    console.log(JSON.stringify(ports))
    process.exit()`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  const there: readonly number[] = JSON.parse(stdout)
  t.equal(there.length, 200)
  t.notOk(there.some((port) => here.includes(port)))
})

async function manyPorts(count: number): Promise<readonly number[]> {
  const ports: number[] = []
  for (let made = 0; made < count; made += 1) ports.push(await freePort())
  return ports
}
