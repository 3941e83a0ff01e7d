import { spawnSync } from 'node:child_process'
import { brokerProgram } from './program.js'

/** Starts a program as somebody who may do nothing, where this user may do all. */
export const asNobody: readonly string[] =
  process.getuid?.() === 0
    ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--bounding-set', '-all']
    : []

const mayRead =
  asNobody.length === 0 ||
  spawnSync('setpriv', [...asNobody.slice(1), process.execPath, brokerProgram, 'version']).status === 0

/** Why tests are skipped that start the program as nobody; false where they can. */
export const withoutNobody = mayRead ? false : 'nobody cannot read the program'
