import { test } from 'tap'
import { oneByOne } from '../../src/mailbox/one-by-one.js'

test('what is told while something is under way is carried out behind it, in its order', async (t) => {
  const done: string[] = []
  const ends = new Map<string, () => void>()
  const tell = oneByOne((instruction: string) => {
    done.push(`begins ${instruction}`)
    if (!instruction.startsWith('long')) return
    return new Promise<void>((resolve) => ends.set(instruction, resolve))
  })
  for (const instruction of ['a', 'long1', 'b', 'long2', 'c']) tell(instruction)
  t.same(done.splice(0), ['begins a', 'begins long1'])

  ends.get('long1')?.()
  await new Promise(setImmediate)
  t.same(done.splice(0), ['begins b', 'begins long2'])
  tell('d')
  t.same(done.splice(0), [])

  ends.get('long2')?.()
  await new Promise(setImmediate)
  tell('e')
  t.same(done, ['begins c', 'begins d', 'begins e'])
})
