// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func servicesCommand(c *shell.Console) *cobra.Command {
	var at leasehome.Flags
	cmd := &cobra.Command{
		Use: "services", Short: "List the services that there are leases of", Args: shell.Arguments(cobra.NoArgs),
		Long:    "List the services that a store or a lease server knows: those that have, or had, a lease.\n" + leasehome.About,
		Example: "  kazahana lease services --leases sqlite:leases.db",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.With(cmd, func(ctx context.Context, l *leasehome.Home) error {
				return l.EachService(ctx, func(id string) error { return c.Write(service{id}) })
			})
		},
	}
	at.Add(c, cmd)
	_ = cmd.Flags().MarkHidden("service") // it is about all of them
	return cmd
}

// service is a line of a listing.
type service struct {
	Service string `json:"service"`
}

func (s service) Lines() []string { return []string{s.Service} }
