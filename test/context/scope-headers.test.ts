import { test } from 'tap'
import type { ServicePath } from '../../src/model/context/entity.js'
import { parseServicePaths, parseTenant, pathsOfRead } from '../../src/model/context/scope-headers.js'
import { staysWithin } from '../pace.js'

test('service paths are checked level by level', async (t) => {
  const parse = (header: string | undefined) => {
    const paths = parseServicePaths(header, 'all')
    return paths.ok ? paths.value : paths.error
  }
  t.same(parse(undefined), [])
  t.same(parse(''), [])
  t.same(parse('/, /#, /a/b//, /c/#'), [
    { path: '/', below: false },
    { path: '/', below: true },
    { path: '/a/b', below: false },
    { path: '/c', below: true },
  ])
  t.equal(parse('a'), 'Only /absolute/ Service Paths allowed [a service path must begin with /]')
  t.equal(parse('/1/2/3/4/5/6/7/8/9/10/11'), 'too many components in ServicePath')
  t.equal(parse(`/${'a'.repeat(51)}`), 'component-name too long in ServicePath')
  t.equal(parse('/a//b'), 'empty component in ServicePath')
  t.equal(parse('/a/#/b'), 'a component of ServicePath contains an illegal character')
  t.equal(parse(Array(11).fill('/a').join(',')), 'too many service paths - a maximum of ten service paths is allowed')
})

test('NGSIv2 ignores one slash at the end of a service path, NGSIv1 all [NGSIv2 context 5]', async (t) => {
  t.same(parseServicePaths('/a/', 'one'), { ok: true, value: [{ path: '/a', below: false }] })
  t.same(parseServicePaths('/', 'one'), { ok: true, value: [{ path: '/', below: false }] })
  t.same(parseServicePaths('/a/#/', 'one'), { ok: true, value: [{ path: '/a', below: true }] })
  t.same(parseServicePaths('/a//', 'one'), { ok: false, error: 'empty component in ServicePath' })
  t.same(parseServicePaths('/a//', 'all'), { ok: true, value: [{ path: '/a', below: false }] })
})

test('reads look everywhere without a path', async (t) => {
  const range = (path: string, below: boolean) => ({ path: path as ServicePath, below })
  t.same(pathsOfRead([]), [range('/', true)])
  t.same(pathsOfRead([range('/a', false)]), [range('/a', false)])
})

test('paths of many slashes are refused in linear time', async (t) => {
  const slashes = '/'.repeat(1_000_000)
  for (const which of ['one', 'all'] as const) {
    const checkRefusal = () =>
      t.same(parseServicePaths(`${slashes}x`, which), { ok: false, error: 'too many components in ServicePath' })
    t.ok(await staysWithin(1000, checkRefusal))
  }
  t.same(parseServicePaths(slashes, 'all'), { ok: true, value: [{ path: '/', below: false }] })
})

test('a tenant is folded to lower case, and the default one without multiservice', async (t) => {
  t.same(parseTenant('Acme_7', true), { ok: true, value: 'acme_7' })
  t.same(parseTenant('Acme_7', false), { ok: true, value: '' })
  t.same(parseTenant(undefined, true), { ok: true, value: '' })
  t.same(parseTenant('', true), { ok: true, value: '' })
  t.ok(parseTenant('a'.repeat(50), true).ok)
})
