// SPDX-License-Identifier: Apache-2.0

package feeds

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// Command returns kazahana feed.
func Command(c *shell.Console) *cobra.Command {
	return shell.Group("feed", "Show changes of records in the order of commits", tailCommand(c))
}
