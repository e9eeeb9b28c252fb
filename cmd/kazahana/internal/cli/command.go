// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/databases"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/dirs"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/doctors"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/explain"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/feeds"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/ids"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/indexes"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leases"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/pages"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/pairs"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/placements"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/prompt"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/records"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/schemas"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/stats"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/tenants"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/types"
	"github.com/kazahana-db/kazahana/internal/shell"
)

const about = `kazahana shows and changes what is in databases, makes and reads kazahana IDs, serves the leases under
which they are unique, and tells where virtual actors are.

Results are lines of text, or with --json one JSON object a line. Exit codes:
  0  done
  1  failed: the clock, a file, the network, a server or a store
  2  wrong use: an unknown command or flag, a missing argument, options that do not go together
  3  invalid input: a text that is not an ID, an external ID, a key or a lease
  4  there is no such lease, or another client has it; there is no such directory, tenant,
     record or key
  5  a database is damaged; an index does not agree with its records, or records keep it from being built
  6  doctor found no damage, but could not examine everything`

// ExitDone is the exit code of a command that succeeded; package explain has the
// others.
const ExitDone = explain.ExitDone

// Streams are the input and the outputs of a command.
type Streams = shell.Streams

// Run runs the command with the arguments that follow its name, and returns its exit code.
// When ctx ends, the command ends in order.
func Run(ctx context.Context, args []string, streams Streams) int {
	c := shell.NewConsole("kazahana", args, streams)
	root := newRoot(c)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return c.Fail(explain.Error(err), explain.ExitCode(err))
	}
	return ExitDone
}

func newRoot(c *shell.Console) *cobra.Command {
	root := shell.Group("kazahana", "Look into databases, make IDs, serve leases, find virtual actors",
		database.Refuse(ids.Command(c)),
		database.Refuse(leases.Command(c)),
		placements.Command(c),
		pairs.Command(c),
		indexes.Command(c),
		feeds.Command(c),
		types.Command(c),
		records.Command(c),
		schemas.Command(c),
		dirs.Command(c),
		tenants.Command(c),
		stats.Command(c),
		prompt.Command(c, newRoot),
		pages.Command(c),
	)
	root.AddCommand(doctors.Command(c))
	root.AddCommand(databases.Commands(c)...)
	root.AddCommand(database.Refuse(c.VersionCommand()))
	root.Long = about
	database.AddFlags(root)
	c.Prepare(root)
	return root
}
