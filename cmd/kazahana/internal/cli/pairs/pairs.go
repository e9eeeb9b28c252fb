// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/keytext"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// aboutKeys says in the help of a verb how keys are given and shown.
const aboutKeys = keytext.About + `

With --dir, keys are those of the directory: ("R", "Order", 42) is a record of it. Without, they are
keys of the database as they are stored, and each is shown with the directory to which it belongs.
` + database.About

// Command returns kazahana kv.
func Command(c *shell.Console) *cobra.Command {
	return shell.Group("kv", "Show and clear keys and values, whatever wrote them", getCommand(c), rangeCommand(c), clearCommand(c))
}
