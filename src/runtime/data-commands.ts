import type { DataCommand } from '../command-line/command-words.js'
import { backupCommand } from '../offline/backup-command.js'
import { checkCommand } from '../offline/check-command.js'
import type { OfflineCommand } from '../offline/command.js'
import { restoreCommand } from '../offline/restore-command.js'
import { exportCommand } from '../transfer/export-command.js'
import { importCommand } from '../transfer/import-command.js'
import { reshardCommand } from '../transfer/reshard-command.js'

/** The commands on the data of a broker, read together: each by itself would cut the program that serves into more files. */
export const dataCommands: Readonly<Record<DataCommand, OfflineCommand>> = {
  backup: backupCommand,
  restore: restoreCommand,
  check: checkCommand,
  reshard: reshardCommand,
  export: exportCommand,
  import: importCommand,
}
