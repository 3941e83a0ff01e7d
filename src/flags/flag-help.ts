import { commandNames } from './command-words.js'
import { type Flag, flagGroups } from './flag.js'
import { flagsByName, takesValue } from './flags.js'

/** The text of `-u`: names and values only [management 9.2]. */
export function usageText(): string {
  const lines: string[] = []
  let line = 'Usage: rigel'
  for (const [name, flag] of flagsByName) {
    const item = `[${spelled(name, flag)}]`
    if (line.length + 1 + item.length > 100) {
      lines.push(line)
      line = '            '
    }
    line += ` ${item}`
  }
  return `${[...lines, line].join('\n')}\n`
}

/** The text of `-h`: the flags in groups with values, meanings, defaults and variables, then examples [management 9.2]. */
export function helpText(): string {
  const groups = flagGroups.map((group) => {
    const members = [...flagsByName].filter(([, flag]) => flag.group === group)
    return [group, ...members.flatMap(([name, flag]) => [`  ${spelled(name, flag)}`, `        ${described(flag)}`])]
  })
  return `${[introduction, ...groups.map((lines) => lines.join('\n')), examples].join('\n\n')}\n`
}

/** How flags are written, and which of several values counts: for the help and the pages of the flags. */
export const flagRules = `A flag takes one dash or two, and its value after a space or an equals sign. The last of
several equal flags counts. A flag wins over its environment variable, the variable over the default.`

const introduction = `Usage: rigel [flags]
       rigel <command> [options]

Rigel is a context broker. ${flagRules}

Commands
  ${commandNames.join(', ')}
  'rigel help' lists the commands and what they do, 'rigel help <command>' the options of one.`

const examples = `Examples
  rigel                                            starts on port 1026, with the data in ./rigel-data
  rigel -port 8080 -dbPath /var/lib/rigel -multiservice
  rigel -logLevel INFO -logDir /var/log/rigel -logAppend
  rigel -mutexTimeStat -t 200-209                  measures and traces what requests wait for
  RIGEL_ADMIN_TOKEN=... rigel -adminPort 1030      protects the management interface`

function spelled(name: string, flag: Flag): string {
  return takesValue(flag) && 'takes' in flag ? `-${name} <${flag.takes?.shown}>` : `-${name}`
}

function described(flag: Flag): string {
  const facts = [
    ...(flag.kind === 'value' ? [`default ${flag.shownDefault}`] : []),
    ...(flag.kind === 'switch' ? ['default off'] : []),
    ...(flag.variable === undefined ? [] : [flag.variable]),
  ]
  const note = {
    ignored: 'ignored: ',
    refused: 'refused: ',
    value: '',
    switch: '',
    prints: '',
  }[flag.kind]
  return `${note}${flag.meaning}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`
}
