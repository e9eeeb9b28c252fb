// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func restoreCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "restore BACKUP", Short: "Copy a backup to a new folder, and check the copy", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Copy a backup to the folder of --db, which must not exist or be empty, and check the copy as verify
does. The folder appears complete or not at all. It shares nothing with the backup, which may lie on
a read-only disk.

It is a database of its own, with another identity. If programs lease IDs from it, see
kazahana lease quarantine: the backup does not know the leases that were granted after it. If it has
virtual actors, see kazahana placement forget-members: it lists the members of the original.`,
		Example: "  kazahana restore /backups/2026-11-22 --db data-restored",
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := database.Folder(cmd)
			if err != nil {
				return err
			}
			info, err := restore(cmd.Context(), c, args[0], folder)
			if err != nil {
				return explainRestore(args[0], err)
			}
			return c.Write(copyResult{*newOrigin(&info), folder, "restored to"})
		},
	}
}

// explainRestore adds advice to the error of a restore from a folder without a backup.
func explainRestore(backup string, err error) error {
	if _, missing := os.Stat(backup); errors.Is(missing, iofs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s: name the folder of the backup (%w)", shell.Word(backup), err)
	}
	return database.ExplainMissing(backup, err)
}

// restore copies a backup, with a progress of the bytes that are read: those of the backup,
// and those of the copy, which is checked.
func restore(ctx context.Context, c *shell.Console, backup, folder string) (embedded.BackupInfo, error) {
	bar := c.StartProgress("restoring", 2*folderSize(backup), shell.Bytes)
	defer bar.Finish()
	return embedded.Restore(ctx, absolute(backup), absolute(folder), embedded.Options{FS: newMeter(bar.Set)})
}
