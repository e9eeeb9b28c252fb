// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// Command returns kazahana kv.
func Command(c *shell.Console) *cobra.Command {
	return shell.Group("kv", "Show keys and values, whatever wrote them", getCommand(c))
}
