// SPDX-License-Identifier: Apache-2.0

// Package ids has the commands kazahana id, which make, explain and convert IDs.
package ids

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// Command returns kazahana id.
func Command(c *shell.Console) *cobra.Command {
	return shell.Group("id", "Make, explain and convert IDs", newCommand(c), inspectCommand(c), encodeCommand(c), decodeCommand(c))
}
