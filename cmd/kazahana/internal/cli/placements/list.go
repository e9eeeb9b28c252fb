// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/placement/kvstore"
)

func listCommand(c *shell.Console) *cobra.Command {
	var (
		at    hostFlags
		kind  string
		owner string
		free  bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List the virtual actors and who has them", Args: shell.Arguments(cobra.NoArgs),
		Long: `List virtual actors with the members that have them, a line each. After a member has died, the database
names it as the owner of an actor until that actor is called again.
` + database.About,
		Example: "  kazahana placement list --db data --kind account --owner bank-1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.withActors(cmd, func(ctx context.Context, p *actors) error {
				found := false
				err := p.eachRow(ctx, kind, func(r kvstore.Row) error {
					found = true
					if r.Free() && !free || owner != "" && r.Owner.Name != owner {
						return nil
					}
					return c.Write(newRowLine(r))
				})
				if found || err != nil {
					return err
				}
				_, err = p.usedTopology(ctx)
				return err
			})
		},
	}
	at.addTo(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "only those of this `kind`")
	cmd.Flags().StringVar(&owner, "owner", "", "only those that the member of this `name` has")
	cmd.Flags().BoolVar(&free, "free", false, "also those that no member has any more")
	return cmd
}

// rowLine is a row in a listing.
type rowLine struct {
	Key      string `json:"key"`
	Owner    string `json:"owner,omitempty"`
	Address  string `json:"address,omitempty"`
	Epoch    int64  `json:"epoch"`
	Topology int64  `json:"topology,omitempty"`
}

func newRowLine(r kvstore.Row) rowLine {
	line := rowLine{Key: r.Key.String(), Epoch: r.Epoch}
	if !r.Free() {
		line.Owner, line.Address, line.Topology = r.Owner.String(), r.Address, r.Topology
	}
	return line
}

func (r rowLine) Lines() []string {
	owner := "no member"
	if r.Owner != "" {
		owner = fmt.Sprintf("%s at %s, since topology %d", shell.Word(r.Owner), shell.Word(r.Address), r.Topology)
	}
	return []string{fmt.Sprintf("%-24s epoch %-6d %s", shell.Word(r.Key), r.Epoch, owner)}
}
