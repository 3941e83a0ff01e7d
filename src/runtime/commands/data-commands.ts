import { backupCommand } from '../../data/offline/backup-command.js'
import { checkCommand } from '../../data/offline/check-command.js'
import type { OfflineCommand } from '../../data/offline/command.js'
import { restoreCommand } from '../../data/offline/restore-command.js'
import { exportCommand } from '../../data/transfer/export-command.js'
import { importCommand } from '../../data/transfer/import-command.js'
import { reshardCommand } from '../../data/transfer/reshard-command.js'
import type { DataCommand } from '../../flags/command-words.js'

/** The commands on the data of a broker, read together: each by itself would cut the program that serves into more files. */
export const dataCommands: Readonly<Record<DataCommand, OfflineCommand>> = {
  backup: backupCommand,
  restore: restoreCommand,
  check: checkCommand,
  reshard: reshardCommand,
  export: exportCommand,
  import: importCommand,
}
