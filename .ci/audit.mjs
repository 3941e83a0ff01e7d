// Asks the registry what is known against the dependencies that the broker is delivered with. A finding of high severity fails.
// Where nobody can be asked, a line says so and nothing fails: not every registry has audits, and not every machine a network.
import { spawnSync } from 'node:child_process'

const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json', '--fetch-retries=1', '--fetch-timeout=30000'], {
  encoding: 'utf8',
  timeout: 120_000,
})

/** The report; nothing when there is none. */
function reportOf(text) {
  try {
    const report = JSON.parse(text)
    return typeof report.metadata?.vulnerabilities === 'object'
      ? report
      : { reason: report.message ?? report.error?.summary }
  } catch {
    return {}
  }
}

const { metadata, vulnerabilities = {}, reason = 'npm gave no report' } = reportOf(stdout ?? '')
if (metadata === undefined) {
  process.stdout.write(`dependencies: not audited: ${String(reason).split('\n')[0]}\n`)
} else {
  const found = Object.values(vulnerabilities)
  for (const { name, severity, range, via } of found) {
    const what = via.map((each) => (typeof each === 'string' ? each : `${each.title} ${each.url}`)).join('; ')
    process.stdout.write(`${severity}: ${name} ${range}: ${what}\n`)
  }
  const { high = 0, critical = 0 } = metadata.vulnerabilities
  process.stdout.write(`dependencies: audited, ${found.length} findings, ${high + critical} of high severity\n`)
  process.exitCode = high + critical > 0 ? 1 : 0
}
