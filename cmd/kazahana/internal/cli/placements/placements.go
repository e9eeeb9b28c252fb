// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// Command returns kazahana placement.
func Command(c *shell.Console) *cobra.Command {
	g := shell.Group("placement", "Show where virtual actors are, and why", showCommand(c), listCommand(c), membersCommand(c), forgetCommand(c))
	g.Long = "Show where virtual actors are, and why. Forget the members in a copy of a database.\n" + database.About
	return g
}
