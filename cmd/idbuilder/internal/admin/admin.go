// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
)

// Commands returns the commands of operators.
func Commands(p *program.Program) []*cobra.Command {
	return []*cobra.Command{
		workersCommand(p), settingsCommand(p), configCommand(p), tokenCommand(p), idCommand(p),
		migrateCommand(p), importCommand(p), storeCommand(p),
	}
}
