// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// batch is how many IDs are made at a time.
const batch = 1024

func (c *command) idNew() *cobra.Command {
	var (
		count    int
		at       leaseFlags
		fallback bool
	)
	cmd := &cobra.Command{
		Use: "new", Short: "Make IDs", Args: shell.Arguments(cobra.NoArgs),
		Long: `Make IDs and write them, ascending, one a line; --json takes them apart.

With --leases they are made under a lease, unique in the service, or not at all unless --fallback
is given. Without, they are fallback IDs: their machine and sequence are random, and two
processes that make some in the same millisecond can make the same.
` + aboutLeases,
		Example: "  kazahana id new\n  kazahana id new -n 3 --leases https://id.example.com --service payments",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 1 {
				return shell.Misuse(cmd, errors.New("--count must be at least 1"))
			}
			if !at.given() {
				l, err := at.layout(cmd)
				if err != nil {
					return err
				}
				return c.makeIDs(cmd.Context(), idgen.Options{Layout: l}, count)
			}
			at.creates = true
			return at.with(cmd, func(ctx context.Context, l *leases) error {
				opts := idgen.Options{Provider: l.provider, ServiceID: at.service, DisableFallback: !fallback, Logger: c.Logger()}
				if cmd.Flags().Changed("epoch") || cmd.Flags().Changed("bits") {
					opts.Layout = l.layout
				}
				if opts.DisableFallback {
					opts.Logger = slog.New(slog.DiscardHandler) // what it would tell is the error
				}
				return c.makeIDs(ctx, opts, count)
			})
		},
	}
	at.add(c, cmd)
	cmd.Flags().IntVarP(&count, "count", "n", 1, "how many")
	cmd.Flags().BoolVar(&fallback, "fallback", false, "make fallback IDs where no lease can be had")
	return cmd
}

// newID is an ID that was made. As text it is the number alone.
type newID struct{ breakdown }

func (n newID) Lines() []string { return []string{n.ID.String()} }

// makeIDs makes IDs and writes them. The lease goes back at the end, also where
// that is early.
func (c *command) makeIDs(ctx context.Context, opts idgen.Options, count int) (err error) {
	client, err := idgen.NewClient(opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Shutdown(context.WithoutCancel(ctx))) }()
	ids := make([]idgen.ID, min(count, batch))
	for count > 0 {
		ids = ids[:min(count, len(ids))]
		if _, err := client.NextN(ctx, ids); err != nil {
			return err
		}
		for _, id := range ids {
			if err := c.Write(newID{breakDown(client.Layout(), id)}); err != nil {
				return err
			}
		}
		count -= len(ids)
	}
	return nil
}
