import { test } from 'tap'
import { checkUriParameters, representationOf } from '../../src/api/ngsi2/parameters.js'

function refusal(name: string, value: string): unknown {
  const response = checkUriParameters(new Map([[name, value]]))
  return response === undefined ? undefined : [response.status, JSON.parse(String(response.body)).description]
}

test('parameters that are wrong in themselves are refused [NGSIv2 context 1.5]', async (t) => {
  const forbidden = [400, 'invalid character in URI parameter']
  for (const [name, value, wrong] of [
    ['type', '', [400, 'Empty right-hand-side for URI param /type/']],
    ['colour', '', [400, 'Empty right-hand-side for URI param /colour/']],
    ['colour', 'a<b', forbidden],
    ['a"b', 'c', forbidden],
    ['type', 'a;b', forbidden],
    ['orderBy', "'a'", forbidden],
    ['georel', 'near;maxDistance=1(', forbidden],
    ['coords', '1=2', forbidden],
    ['offset', 'x', [400, 'Bad pagination offset: /x/ [must be a decimal number]']],
    ['offset', '-1', [400, 'Bad pagination offset: /-1/ [must be a decimal number]']],
    ['limit', 'x', [400, 'Bad pagination limit: /x/ [must be a positive integer number]']],
    ['limit', '1.5', [400, 'Bad pagination limit: /1.5/ [must be a positive integer number]']],
    ['limit', '1001', [400, 'Bad pagination limit: /1001/ [max: 1000]']],
    ['options', 'counts', [400, 'Invalid value for URI param /options/']],
    ['options', 'count,', [400, 'Invalid value for URI param /options/']],
    ['options', 'keyValues,values', [400, 'Invalid value for URI param /options/']],
    ['options', 'values,count,unique', [400, 'Invalid value for URI param /options/']],
  ] as const) {
    t.strictSame(refusal(name, value), wrong, `${name}=${value}`)
  }
})

test('what may stand in parameters does [NGSIv2 context 1.5]', async (t) => {
  for (const [name, value] of [
    ['q', `a=='b';c>(1)`],
    ['mq', 'a.b<"1"'],
    ['idPattern', '^(a|b)$'],
    ['typePattern', '(a)'],
    ['georel', 'near;maxDistance=1'],
    ['geometry', 'a=b;c'],
    ['coords', '1,2;3,4'],
    ['colour', 'red'],
    ['limit', '0'],
    ['limit', '1000'],
    ['offset', '99999999999999999999'],
    ['options', 'count,keyValues,normalized,append,upsert,overrideMetadata,forcedUpdate,flowControl,skipForwarding'],
    ['options', 'noAttrDetail,dateCreated,dateModified,skipInitialNotification,fullCounters,libVersions'],
  ] as const) {
    t.equal(refusal(name, value), undefined, `${name}=${value}`)
  }
})

test('the older options for dates stand for names among the attributes [NGSIv2 context 6]', async (t) => {
  const shown = (...parameters: readonly (readonly [string, string])[]) => representationOf(new Map(parameters))
  t.same(shown(), { form: 'normalized', attributes: [], metadata: [] })
  t.same(shown(['options', 'dateCreated,keyValues']).attributes, ['dateCreated', '*'])
  t.same(shown(['options', 'dateModified'], ['attrs', 'heat,lid']).attributes, ['heat', 'lid', 'dateModified'])
  t.same(shown(['options', 'unique'], ['metadata', 'a,b']), { form: 'unique', attributes: [], metadata: ['a', 'b'] })
})
