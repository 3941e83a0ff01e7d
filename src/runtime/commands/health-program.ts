import { get as getByHttp } from 'node:http'
import { get as getByHttps } from 'node:https'
import { asksForHelp } from '../../flags/asks-for-help.js'

const help = `Usage: rigel health [URL]

Asks a broker whether it is ready. The exit code is 0 if it is, 1 if not (a line gives the reason), and 2 for a wrong command line.
Without a URL, the command asks the broker on this machine: at the port in ORION_PORT or 1026, by HTTPS if ORION_HTTPS is true.
`

/** Below the limit of the caller: a container engine gives up after five seconds. */
const limit_ms = 4000

const words = process.argv.slice(2)
const [word, ...more] = words
if (asksForHelp(words)) process.stdout.write(help)
else if (more.length > 0) wrong(`'${more[0]}' is one word too many`)
else if (word !== undefined && !isUrl(word)) wrong(`'${word}' is no option and no URL of HTTP`)
else checkHealth(word ?? ownUrl())

function isUrl(word: string): boolean {
  return URL.canParse(word) && /^https?:/i.test(word)
}

function wrong(reason: string): void {
  process.stderr.write(`${reason}\n'rigel help health' says what it takes\n`)
  process.exitCode = 2
}

function ownUrl(): string {
  const { ORION_PORT: port = '1026', ORION_HTTPS: https } = process.env
  return `${https?.toLowerCase() === 'true' ? 'https' : 'http'}://127.0.0.1:${port}/health/ready`
}

function checkHealth(url: string): void {
  // The port of the environment may make it none.
  if (!isUrl(url)) {
    end(`${url} is no URL of HTTP`)
    return
  }
  const isTls = /^https:/i.test(url)
  // The certificate is for the name that clients use, so it is not checked: only whether the broker serves matters.
  const options = { timeout: limit_ms, rejectUnauthorized: false }
  const request = (isTls ? getByHttps : getByHttp)(url, options, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text = (text + chunk).slice(0, 1000)
    })
    response.on('end', () => (response.statusCode === 200 ? undefined : end(`${response.statusCode} ${text}`)))
  })
  request.on('timeout', () => request.destroy(new Error(`no response within ${limit_ms} ms`)))
  request.on('error', (fault) => end(fault.message))
}

function end(reason: string): void {
  process.stderr.write(`not ready: ${reason}\n`)
  process.exitCode = 1
}
