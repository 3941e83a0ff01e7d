import { test } from 'tap'
import { logLevels } from '../../src/threads/shared-memory/switches.js'
import { bodyOf, management, parameters } from './given.js'

const verbosity = (sent: string) => ({ segments: { level: sent } })

test('the verbosity is a number from 0 to 5; anything else changes nothing', async (t) => {
  const { send } = management()
  const put = async (sent: string) => bodyOf(await send('PUT', '/log/verbose/{level}', verbosity(sent)))
  t.same(await put('3'), { verboseLevel: 'verbose level set to 3' })
  for (const bad of ['6', '-1', 'on', '33', '', '2.5']) t.same(await put(bad), { verboseLevel: 'bad URL or Verb' })
  t.same(bodyOf(await send('GET', '/log/verbose')), { verboseLevel: '3' })
  for (const off of ['0', 'off']) {
    await put('5')
    t.same(await put(off), { verboseLevel: 'all verbose levels reset' })
    t.same(bodyOf(await send('GET', '/log/verbose')), { verboseLevel: '0' })
  }
  await put('2')
  t.same(bodyOf(await send('DELETE', '/log/verbose')), { verboseLevel: 'all verbose levels reset' })
})

function withDefaults() {
  const given = management()
  const { switches } = given.measures
  switches.set('logLevel', logLevels.indexOf('WARN'))
  switches.set('infoPayloadMaxSize', 5120)
  switches.set('lineMaxSize', 32768)
  return given
}

test('log settings are changed by parameters, others are ignored', async (t) => {
  const { send, lines } = withDefaults()
  const given = parameters(['level', 'wArNiNg'], ['lineMaxSize', '4000'], ['deprecate', 'TRUE'], ['colour', 'blue'])
  t.same(await send('PUT', '/admin/log', given), { status: 200 }, 'no body')
  t.same(bodyOf(await send('GET', '/admin/log')), {
    level: 'WARN',
    infoPayloadMaxSize: 5120,
    lineMaxSize: 4000,
    deprecate: true,
  })
  t.match(lines, [{ level: 'INFO', message: 'log settings changed', facts: { lineMaxSize: 4000 } }])
  for (const level of logLevels) {
    await send('PUT', '/admin/log', parameters(['level', level.toLowerCase()]))
    t.match(bodyOf(await send('GET', '/admin/log')), { level })
  }
})

test('a request with one bad value changes nothing and is not counted', async (t) => {
  const { send, measures } = withDefaults()
  const notPositive = (name: string) => `invalid ${name}, ${name} should be an integer number > 0`
  const cases: readonly (readonly [readonly (readonly [string, string])[], string])[] = [
    [[], 'log config missing'],
    [[['colour', 'blue']], 'log config missing'],
    [[['level', '']], 'Empty right-hand-side for URI param /level/'],
    [[['level', 'LOUD']], 'invalid log level'],
    [[['infoPayloadMaxSize', '-2000']], notPositive('infoPayloadMaxSize')],
    [[['infoPayloadMaxSize', '3.5']], notPositive('infoPayloadMaxSize')],
    [
      [
        ['level', 'ERROR'],
        ['lineMaxSize', '0'],
      ],
      notPositive('lineMaxSize'),
    ],
  ]
  for (const [pairs, description] of cases) {
    const response = await send('PUT', '/admin/log', parameters(...pairs))
    t.equal(response.status, 400)
    t.same(bodyOf(response), { error: 'BadRequest', description })
  }
  t.equal(measures.counts.flat('logLevelRequests'), 0n)
  t.match(bodyOf(await send('GET', '/admin/log')), { level: 'WARN', lineMaxSize: 32768 })
})
