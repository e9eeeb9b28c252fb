// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

const aboutFolders = `
The folder is that of an embedded database that no program has open. If a process has it open, the
command names that process and changes nothing.`

const aboutReading = aboutFolders + ` It writes nothing to it in any case.`

// Commands returns kazahana verify, backup, restore, move and log.
func Commands(c *shell.Console) []*cobra.Command {
	return []*cobra.Command{verifyCommand(c), backupCommand(c), restoreCommand(c), moveCommand(c), logCommand(c)}
}

// ExitDamaged is the exit code for a database that is not as it was written.
const ExitDamaged = 5
