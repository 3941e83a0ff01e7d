import { backupCommand } from '../../data/offline/backup-command.js'
import { checkCommand } from '../../data/offline/check-command.js'
import type { OfflineCommand } from '../../data/offline/command.js'
import { restoreCommand } from '../../data/offline/restore-command.js'
import { exportCommand } from '../../data/transfer/export-command.js'
import { importCommand } from '../../data/transfer/import-command.js'
import { reshardCommand } from '../../data/transfer/reshard-command.js'
import type { DataCommand } from '../../flags/command-words.js'

/**
 * The commands on data, in one module: loaded one by one they would split the bundle of the serving program into more
 * files.
 */
export const dataCommands: Readonly<Record<DataCommand, OfflineCommand>> = {
  backup: backupCommand,
  restore: restoreCommand,
  check: checkCommand,
  reshard: reshardCommand,
  export: exportCommand,
  import: importCommand,
}
