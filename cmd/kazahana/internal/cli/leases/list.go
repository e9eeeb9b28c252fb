// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

func listCommand(c *shell.Console) *cobra.Command {
	var (
		at    leasehome.Flags
		ended bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List the leases of a service", Args: shell.Arguments(cobra.NoArgs),
		Long:    "List the leases of a service, in the order of their positions, without their secrets.\n" + leasehome.About,
		Example: "  kazahana lease list --leases sqlite:leases.db\n  kazahana lease list --leases redis://localhost:6379 --service payments --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.With(cmd, func(ctx context.Context, l *leasehome.Home) error { return listLeases(ctx, c, l, at.Service, ended) })
		},
	}
	at.Add(c, cmd)
	cmd.Flags().BoolVar(&ended, "ended", false, "also leases that have ended or were released, until their positions are leased again")
	return cmd
}

func listLeases(ctx context.Context, c *shell.Console, l *leasehome.Home, service string, ended bool) error {
	return l.EachLease(ctx, service, lease.ListOptions{Ended: ended}, func(info lease.Info) error { return c.Write(listedLease{info}) })
}

// listedLease is a line of a listing.
type listedLease struct{ lease.Info }

func (l listedLease) Lines() []string {
	state := "active"
	switch {
	case l.LastTs != nil:
		state = "released"
	case !l.Active:
		state = "ended"
	}
	return []string{fmt.Sprintf("machine %-6d bits %-3d %-9s %s to %s%s", l.ID, l.BitSeq, state, shell.Stamp(l.Created), shell.Stamp(l.Expired), shell.Pairs(l.Meta))}
}
