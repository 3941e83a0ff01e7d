import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { isLong } from '../faults/run.js'
import { rigelProgram } from '../offline/given-command.js'
import { RunningBroker } from '../running.js'

const rounds = isLong ? 300 : 16
const atOnce = 2

test('a start that one partition refuses ends with its code, whatever the threads of the others do at that moment', async (t) => {
  t.testdir()
  const starting = Array.from({ length: atOnce }, async (_, number) => {
    const folder = join(t.testdirName, `data-${number}`)
    const broker = await RunningBroker.startOn(t, folder, ['-partitions', '4'])
    await broker.endsInOrder(t)
    // Its thread finds that out at once, when those of the others are just loading their programs or opening their files.
    rmSync(join(folder, 'partition-0', 'log'), { recursive: true })
    writeFileSync(join(folder, 'partition-0', 'log'), 'not a folder')
    return folder
  })
  const folders = await Promise.all(starting)
  const port = `${await freePort()}`
  const ends = folders.map(async (folder) => {
    const codes = new Map<number | null, number>()
    for (let round = 0; round < rounds / atOnce; round += 1) {
      const { code, output } = await rigelProgram(['-dbPath', folder, '-port', port, '-httpThreads', '2'])
      if (!/cannot be used: EEXIST.*partition-0/.test(output)) throw new Error(output)
      codes.set(code, (codes.get(code) ?? 0) + 1)
    }
    return codes
  })
  for (const codes of await Promise.all(ends)) t.same([...codes], [[3, rounds / atOnce]])
})
