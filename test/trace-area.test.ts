import { test } from 'tap'
import { traceArea } from '../src/trace-area.js'
import { sourcesOf } from './sources.js'

const sources = sourcesOf('src', 'workers').filter(({ path }) => path !== 'src/trace-area.ts')

test('each trace area has a line', async (t) => {
  for (const area of Object.keys(traceArea)) {
    const name = area.replaceAll('.', '\\.')
    // A name with a dot stands for nothing else; of the others it has to be said that they are areas.
    const named = area.includes('.')
      ? `'${name}'`
      : `traceArea\\.${name}\\b|traceArea\\['${name}'\\]|(?:[tT]race|maybe)\\([^'\\n]*'${name}'`
    const traced = new RegExp(named)
    t.ok(
      sources.some(({ code }) => traced.test(code)),
      area,
    )
  }
})
