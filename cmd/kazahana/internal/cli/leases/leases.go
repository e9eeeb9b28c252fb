// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// Command returns kazahana lease.
func Command(c *shell.Console) *cobra.Command {
	g := shell.Group("lease", "Serve, list, acquire and release leases of machine ids",
		serveCommand(c), servicesCommand(c), listCommand(c), acquireCommand(c), releaseCommand(c), quarantineCommand(c))
	g.Long = "Serve, list, acquire and release leases of machine ids.\n" + leasehome.About
	return g
}
