import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const script = fileURLToPath(new URL('../../.ci/audit.mjs', import.meta.url))

/** What the audit says, and ends with, when npm gives a text. */
function audited(t: Test, report: unknown): { readonly output: string; readonly code: number | null } {
  const folder = t.testdir({ report: typeof report === 'string' ? report : JSON.stringify(report) })
  const npm = join(folder, 'npm')
  writeFileSync(npm, `#!/bin/sh\ncat '${join(folder, 'report')}'\nexit 1\n`)
  chmodSync(npm, 0o755)
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}` }
  const { stdout, status } = spawnSync(process.execPath, [script], { encoding: 'utf8', env })
  return { output: stdout, code: status }
}

function withFindings(severity: 'moderate' | 'high' | 'critical') {
  const via = [{ title: 'It can be held up', url: 'https://advisories.example/1' }, 'other']
  return {
    vulnerabilities: { hono: { name: 'hono', severity, range: '<4.1.0', via } },
    metadata: { vulnerabilities: { [severity]: 1 } },
  }
}

test('a finding of high severity fails, lesser ones are shown', async (t) => {
  const line = (severity: string) => `${severity}: hono <4.1.0: It can be held up https://advisories.example/1; other\n`
  t.same(audited(t, withFindings('moderate')), {
    output: `${line('moderate')}dependencies: audited, 1 findings, 0 of high severity\n`,
    code: 0,
  })
  for (const severity of ['high', 'critical'] as const) {
    const { output, code } = audited(t, withFindings(severity))
    t.equal(code, 1)
    t.ok(output.startsWith(line(severity)))
  }
  t.match(audited(t, { metadata: { vulnerabilities: {} } }), { output: /audited, 0 findings/, code: 0 })
})

test('where nobody can be asked, a line says so and nothing fails', async (t) => {
  const missing = { message: '405 Method Not Allowed\nmore', error: { summary: '' } }
  t.same(audited(t, missing), { output: 'dependencies: not audited: 405 Method Not Allowed\n', code: 0 })
  t.match(audited(t, 'no JSON'), { output: 'dependencies: not audited: npm gave no report\n', code: 0 })
})
