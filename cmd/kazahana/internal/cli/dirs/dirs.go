// SPDX-License-Identifier: Apache-2.0

package dirs

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// Command returns kazahana dir.
func Command(c *shell.Console) *cobra.Command {
	return shell.Group("dir", "Show, move and remove directories", treeCommand(c), moveCommand(c), removeCommand(c))
}
