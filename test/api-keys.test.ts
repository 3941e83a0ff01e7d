import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { ApiKeys, bearerToken, makeApiKey, readApiKeys } from '../src/flags/api-keys.js'
import { staysWithin } from './pace.js'

/** The keys of a file with this text. */
function keysOf(t: Test, text: string, multiservice = true): ReturnType<typeof readApiKeys> {
  const file = join(t.testdir(), 'keys')
  writeFileSync(file, text)
  return readApiKeys(file, multiservice)
}

const hash = createHash('sha256').update('k').digest('hex')

test('a line has name, hash, tenants and use; comments and empty lines are none', async (t) => {
  const parsed = keysOf(t, `# keys\n\n  a.b-c sha256:${hash.toUpperCase()} Alpha,-  read\r\n`)
  t.same(parsed, { ok: true, value: [{ name: 'a.b-c', sha256: hash, tenants: ['alpha', ''], mayWrite: false }] })
  t.match(keysOf(t, `x sha256:${hash} * write`, false), { ok: true, value: [{ tenants: undefined, mayWrite: true }] })
})

test('a wrong line is named by its number, with what is wrong', async (t) => {
  const wrong = (line: string, multiservice = true) => {
    const parsed = keysOf(t, `# first\n${line}`, multiservice)
    return parsed.ok ? 'none' : parsed.error.replace(/^.*keys:/, '')
  }
  t.match(wrong('x'), /^2: the line must be: name sha256:/)
  t.match(wrong(`x ${hash} * read`), /^2: the line must be: name sha256:/)
  t.match(wrong(`x sha256:${hash} * read more`), /^2: the line must be: name sha256:/)
  t.match(wrong(`${'x'.repeat(65)} sha256:${hash} * read`), /^2: the name is not 1 to 64/)
  t.match(wrong('x sha256:12 * read'), /^2: the hash is not 64/)
  t.match(wrong(`x sha256:${hash} a,b-c read`), /^2: 'b-c' is no tenant/)
  t.match(wrong(`x sha256:${hash} a,, read`), /^2: '' is no tenant/)
  t.match(wrong(`x sha256:${hash} * admin`), /^2: 'admin' is neither read nor write/)
  t.match(wrong(`x sha256:${hash} a read`, false), /^2: tenants need -multiservice/)
  t.match(wrong(`x sha256:${hash} * read\ny sha256:${hash} * read`), /^3: the same hash/)
  t.match(wrong(''), /there is no key in it/)
})

test('a file that cannot be read, or is too large, is named', async (t) => {
  const folder = t.testdir()
  t.match(readApiKeys(join(folder, 'none'), false), { ok: false, error: /none cannot be read: .*\(ENOENT\)/ })
  writeFileSync(join(folder, 'large'), Buffer.alloc(16 * 2 ** 20 + 1))
  t.match(readApiKeys(join(folder, 'large'), false), {
    ok: false,
    error: /large cannot be read: it has more than 16777216 bytes/,
  })
  writeFileSync(join(folder, 'wrong'), 'x')
  t.match(readApiKeys(join(folder, 'wrong'), false), { ok: false, error: /wrong:1: the line must be: name/ })
})

test('a key that was made is found by its hash and nothing else is, also after others have replaced it', async (t) => {
  const made = [makeApiKey('one', '*', true), makeApiKey('two', 'a', false)]
  const parsed = keysOf(t, made.map(({ line }) => line).join('\n'))
  if (!parsed.ok) throw new Error(parsed.error)
  const keys = new ApiKeys(parsed.value)
  t.same(
    made.map(({ key }) => keys.find(key)?.name),
    ['one', 'two'],
  )
  t.match(made[0]?.key, /^[\w-]{43}$/)
  for (const other of ['', 'x', `${made[0]?.key}x`, parsed.value[0]?.sha256 ?? '']) t.equal(keys.find(other), undefined)
  keys.use(parsed.value.slice(1))
  t.equal(keys.find(made[0]?.key ?? ''), undefined)
  t.equal(keys.find(made[1]?.key ?? '')?.mayWrite, false)
})

test('a token behind many spaces is read in linear time', async (t) => {
  const spaces = ' '.repeat(1_000_000)
  const isLinear = await staysWithin(1000, () => {
    t.equal(bearerToken(`Bearer${spaces}x `), 'x')
    t.equal(bearerToken(`bearer ${spaces}\n`), undefined)
    t.equal(bearerToken('Bearer'), undefined)
  })
  t.ok(isLinear)
})
