import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { test } from 'tap'
import { type Mend, sourceWithout } from '../mend.js'
import { entityOperations, otherOperations } from './dimensions.js'
import { GrownBroker } from './grown-broker.js'
import { isLong, onQuietMachine, promisesOf } from './growth.js'

/** A mend without which a promise about a dimension does not hold. */
interface GrownMend extends Mend {
  readonly dimension: string
}

const mends: readonly GrownMend[] = [
  {
    fault: 'each element of an entity lays and encodes the whole entity',
    file: 'model/context/entity-forms.ts',
    now: 'if (entity instanceof LargeEntity || weightOf(entity.attributes, largeFrom) < largeFrom) return entity',
    before: 'if (entity instanceof LargeEntity || weightOf(entity.attributes, largeFrom) >= 0) return entity',
    dimension: 'elements of one entity in updateContext, each with other metadata',
  },
  {
    fault: 'long work is not done in slices',
    file: 'slices.ts',
    now: 'return now - (this.#since ?? this.#begin(began)) > slice_ms',
    before: 'return now < 0 && this.#since === slice_ms',
    dimension: 'patterns in a discovery of thousands of long ids',
  },
  {
    fault: 'expressions that are held are parsed at each evaluation',
    file: 'model/expression/expressions.ts',
    now: 'const known = this.#held.get(text) ?? this.#read.get(text)',
    before: 'const known: HeldExpression | undefined = undefined',
    dimension: 'length of 100 conditions that 64 updates are compared with',
  },
  {
    fault: 'a transformation costs nothing',
    file: 'model/expression/transformations.ts',
    now: 'parts.scope.budget.spend(cost(input, inputs, parts.scope))',
    before: 'cost(input, inputs, parts.scope) > 0',
    dimension: 'numbers that 64 expressions ${a|arrMed} read',
  },
]

test('each mend stands in its source', async (t) => {
  for (const mend of mends) t.not(sourceWithout(mend), '', mend.fault)
})

test('the check of growth finds what each mend has mended, when it is taken back', {
  skip: isLong ? false : 'only by RIGEL_GROWTH=long',
}, async (t) => {
  t.setTimeout(600_000)
  const folder = t.testdir()
  for (const [at, mend] of mends.entries()) {
    await t.test(mend.fault, async (of) => {
      const program = await programWithout(mend, join(folder, `${at}`))
      const broker = await GrownBroker.start(of, false, { program })
      const dimension = [...entityOperations, ...otherOperations].find(({ name }) => name === mend.dimension)
      if (dimension === undefined) throw new Error(`nothing is called ${mend.dimension}`)
      const promises = await promisesOf(of, broker, dimension, { ...onQuietMachine, tries: 2 })
      const broken = promises.flatMap(({ what, holds }) => (holds ? [] : what))
      of.not(broken.join('; '), '')
    })
  }
})

/** Makes a copy of the program without a mend; gives its script. */
async function programWithout(mend: Mend, folder: string): Promise<string> {
  const dist = fileURLToPath(new URL('../../', import.meta.url))
  for (const part of ['src', 'workers', 'build.json', 'flags.html', 'console', 'openapi.json', 'docs.html'])
    cpSync(join(dist, part), join(folder, 'dist', part), { recursive: true })
  cpSync(join(dist, '../package.json'), join(folder, 'package.json'))
  const { code } = await transform(sourceWithout(mend), { loader: 'ts', format: 'esm', target: 'node20.15' })
  writeFileSync(join(folder, 'dist/src', mend.file.replace(/ts$/, 'js')), code)
  return join(folder, 'dist/src/main.js')
}
