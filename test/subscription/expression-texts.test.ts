import { test } from 'tap'
import { ChangeViews } from '../../src/api/ngsi2/render/change-view.js'
import { conditionEvaluator, messageRenderer } from '../../src/api/ngsi2/render/notification-message.js'
import { applyUpdate } from '../../src/model/context/apply.js'
import { Expressions } from '../../src/model/expression/expressions.js'
import { templateText } from '../../src/model/expression/json-template.js'
import { parseExpression } from '../../src/model/expression/parse-expression.js'
import { changeBy } from '../../src/model/subscription/change.js'
import { expressionsOf } from '../../src/model/subscription/expression-texts.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import { termsOf } from '../../src/model/subscription/patch.js'
import type { Subscription } from '../../src/model/subscription/subscription.js'
import type { HttpTemplate } from '../../src/model/subscription/terms.js'
import { atOnce } from '../../src/slices.js'
import { command, given, silentLog } from '../given.js'
import { nth, nthId, shortBody } from './given.js'

const terms = termsOf({})

function templated(custom: HttpTemplate, jexl?: string): Pick<Subscription, 'reference' | 'terms'> {
  return {
    reference: 'http://alerts.example/${id}/x',
    terms: {
      ...terms,
      condition: { alterations: [], onMetadata: true, expression: {}, scopes: [], jexl },
      notification: { ...terms.notification, format: 'normalized', target: { kind: 'http', timeout_ms: 0, custom } },
    },
  }
}

/** Matches what expressions take part in, and counts how many are read. Nothing is kept of those that nobody holds. */
function counted() {
  const read: string[] = []
  const expressions = new Expressions(0, (text) => {
    read.push(text)
    return parseExpression(text)
  })
  const parts = { expressions, views: new ChangeViews(), max_bytes: 1_000_000, fillsIn: true, legacyBody: shortBody }
  const matcher = new Matcher({
    ...{ legacyBody: shortBody, message: messageRenderer(parts), holds: conditionEvaluator(parts), expressions },
    ...{ log: silentLog, memory_bytes: 10_000 },
  })
  const bodyOf = (value: string): string | undefined => {
    const next = command('APPEND', 'Silo1', [given('level', value)])
    for (const effect of applyUpdate([], next).effects) matcher.match(changeBy(next, effect), next)
    const [notice] = matcher.notices
    matcher.commit()
    return notice && 'body' in notice ? notice.body : undefined
  }
  return { read, matcher, bodyOf }
}

test('the expressions of a subscription are those of its condition and of all texts of its template', async (t) => {
  const custom = {
    qs: { '${q}': 'a${b} c' },
    headers: { h: '${d}${e}' },
    json: templateText({ '${not}': ['${f}', 1, { x: 'y ${g} ${h' }] }),
  }
  const texts = [...expressionsOf(templated(custom, 'level > 1'))]
  t.same(texts, ['level > 1', 'id', 'q', 'b', 'd', 'e', 'f', 'g'])
  const ngsi = templateText({ id: '${i}', level: { value: { deep: '${[{ a: 1 }]}' } } })
  t.same([...expressionsOf(templated({ ngsi }))], ['id', 'i', '[{ a: 1 }]'])
  t.same([...expressionsOf(templated({ payload: '${a|len} ${a} }' }))], ['id', 'a|len', 'a'])
  t.same([...expressionsOf({ reference: '${id}', terms: undefined })], [])
})

test('expressions are read when their subscription comes into force, and not when an update is notified', async (t) => {
  const { read, matcher, bodyOf } = counted()
  const long = Array.from({ length: 20 }, (_, at) => `[${'1,'.repeat(4000)}level]|len + ${at}`)
  const inForce = nth(1, templated({ json: templateText(long.map((text) => `\${${text}}`)) }, 'true || level'))
  const release = atOnce(matcher.prepare(inForce))
  t.equal(read.length, 22)
  matcher.put(inForce, release)
  t.equal(read.length, 22)

  for (const value of ['1', '2', '3']) {
    t.equal(bodyOf(value), JSON.stringify(long.map((_, at) => 4001 + at)))
  }

  t.equal(read.length, 22)
})

test('a version that replaces another one reads only what is new, and nothing is kept of a subscription that is gone', async (t) => {
  const { read, matcher, bodyOf } = counted()
  const enforce = (payload: string, order = 1): void => {
    const inForce = nth(order, templated({ payload }))
    const release = atOnce(matcher.prepare(inForce))
    matcher.put(inForce, release)
  }
  enforce('${level + 1}')
  enforce('${level + 1} ${level + 2}')
  t.same(read.splice(0), ['id', 'level + 1', 'level + 2'])

  enforce('${level + 2}', 2)
  matcher.remove(nthId(1))
  bodyOf('1')
  t.same(read.splice(0), [])

  matcher.remove(nthId(2))
  enforce('${level + 2}')
  t.same(read, ['id', 'level + 2'])
})
