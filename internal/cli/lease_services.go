// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

func (c *command) leaseServices() *cobra.Command {
	var at leaseFlags
	cmd := &cobra.Command{
		Use: "services", Short: "List the services that there are leases of", Args: shell.Arguments(cobra.NoArgs),
		Long:    "List the services that a store, or a lease server, knows: all that have, or had, a lease.\n" + aboutLeases,
		Example: "  kazahana lease services --leases sqlite:leases.db",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.with(cmd, func(ctx context.Context, l *leases) error {
				return l.eachService(ctx, func(id string) error { return c.Write(service{id}) })
			})
		},
	}
	at.add(c, cmd)
	_ = cmd.Flags().MarkHidden("service") // it is about all of them
	return cmd
}

// eachService calls do with each service, a page at a time.
func (l *leases) eachService(ctx context.Context, do func(id string) error) error {
	const page = 1000
	for after := ""; ; {
		ids, err := l.services(ctx, after, page)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := do(id); err != nil {
				return err
			}
		}
		if len(ids) == 0 {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// service is a line of a listing.
type service struct {
	Service string `json:"service"`
}

func (s service) Lines() []string { return []string{s.Service} }
