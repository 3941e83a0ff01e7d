import { get as getByHttp } from 'node:http'
import { get as getByHttps } from 'node:https'
import { connectionFaultOf } from '../../data/offline/connection-fault.js'
import { asksForHelp } from '../../flags/asks-for-help.js'
import { ownBroker } from '../../flags/own-broker.js'
import { err, ok, type Result } from '../../result.js'

const help = `Usage: rigel health [URL]

Asks a broker whether it is ready. The exit code is 0 if it is, 1 if not (a line gives the reason), and 2 for a wrong command line.
URL is that of the broker, for example http://localhost:1026; the command adds /health/ready, unless URL ends with that or with
/health/live. Without a URL, the command asks the broker on this machine, where the variables ORION_PORT, ORION_LOCALIP,
ORION_USEIPV6 and ORION_HTTPS say, or http://127.0.0.1:1026.
`

/** Below the limit of the caller: a container engine gives up after five seconds. */
const limit_ms = 4000

const words = process.argv.slice(2)
const [word, ...more] = words
if (asksForHelp(words)) process.stdout.write(help)
else if (more.length > 0) wrong(`'${more[0]}' is one word too many`)
else if (word !== undefined) {
  const url = healthUrl(word)
  if (url.ok) checkHealth(url.value)
  else wrong(url.error)
} else {
  const own = ownBroker(process.env)
  if (own.ok) checkHealth(new URL(`${own.value.context}/health/ready`))
  else end(own.error)
}

/** What to ask at a URL that was given: the broker, or one of the two resources that tell its health. */
function healthUrl(word: string): Result<URL, string> {
  if (!URL.canParse(word) || !/^https?:/i.test(word)) return err(`'${word}' is no option and no URL of HTTP`)
  const url = new URL(word)
  if (url.pathname === '/') url.pathname = '/health/ready'
  if (/\/health\/(ready|live)$/.test(url.pathname)) return ok(url)
  return err(`'${word}' does not tell whether a broker is ready: give its URL without a path, or with /health/ready`)
}

function wrong(reason: string): void {
  process.stderr.write(`${reason}\n'rigel help health' says what it takes\n`)
  process.exitCode = 2
}

function checkHealth(url: URL): void {
  // The certificate is for the name that clients use, so it is not checked: only whether the broker serves matters.
  const options = { timeout: limit_ms, rejectUnauthorized: false }
  const request = (url.protocol === 'https:' ? getByHttps : getByHttp)(url, options, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text = (text + chunk).slice(0, 1000)
    })
    response.on('end', () => (response.statusCode === 200 ? undefined : end(`${response.statusCode} ${text}`)))
  })
  request.on('timeout', () => request.destroy(new Error(`no response within ${limit_ms} ms`)))
  request.on('error', (fault) => void connectionFaultOf(url, fault).then(({ text }) => end(text)))
}

function end(reason: string): void {
  process.stderr.write(`not ready: ${reason}\n`)
  process.exitCode = 1
}
