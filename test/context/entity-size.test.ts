import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'tap'
import type { Entity } from '../../src/model/context/entity.js'
import { heapSize } from '../../src/model/context/heap-size.js'
import { decodeEntity } from '../../src/storage/records/record.js'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const values = {
  'one text': `"${'x'.repeat(200_000)}"`,
  'a text of wide characters': `"${'\u5730'.repeat(100_000)}"`,
  'empty objects': `[${Array(50_000).fill('{}').join()}]`,
  'empty arrays': `[${Array(50_000).fill('[]').join()}]`,
  'small numbers': `[${Array(100_000).fill('1').join()}]`,
  fractions: `[${Array(50_000).fill('1.5').join()}]`,
  'numbers and texts': `[${Array(50_000).fill('1.5,"a"').join()}]`,
  'an object of many members': `{${Array.from({ length: 20_000 }, (_, n) => `"key${n}":"v${n}"`).join()}}`,
  'objects of one member': `[${Array.from({ length: 20_000 }, (_, n) => `{"a":"${n}"}`).join()}]`,
}

for (const [shape, value] of Object.entries(values)) {
  test(`entities are not counted smaller than they are in memory: ${shape}`, async (t) => {
    const record = `["Silo1","Silo","/",1,0,0,[["level","",${value},0,0]]]`
    const entities: Entity[] = [decodeEntity(record)]
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (let n = 0; n < 20; n += 1) entities.push(decodeEntity(record))
    collectGarbage()
    const taken = process.memoryUsage().heapUsed - before
    const counted = heapSize(entities.slice(1))
    t.ok(counted >= 0.9 * taken, `${counted} bytes are counted, ${taken} taken`)
    t.ok(counted < 8 * taken, `${counted} bytes are counted, ${taken} taken`)
  })
}
