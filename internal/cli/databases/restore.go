// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func restoreCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "restore backup target", Short: "Copy a backup to a new folder, and check the copy", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Copy a backup to a target folder, which must not exist or be empty, and check the copy as db verify
does. The target appears complete or not at all. It shares nothing with the backup, which may lie on
a read-only disk.

The target is a database of its own, with another identity. If programs lease IDs from it, see
kazahana lease quarantine: the backup does not know the leases that were granted after it.`,
		Example: "  kazahana db restore /backups/2026-11-22 data-restored",
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := embedded.Restore(cmd.Context(), args[0], args[1], embedded.Options{})
			if err != nil {
				return explainMissing(args[0], err)
			}
			return c.Write(copyResult{*newOrigin(&info), args[1], "restored to"})
		},
	}
}
