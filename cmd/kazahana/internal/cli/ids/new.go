// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// batch is how many IDs are made at a time.
const batch = 1024

func newCommand(c *shell.Console) *cobra.Command {
	var (
		count    int
		at       leasehome.Flags
		fallback bool
	)
	cmd := &cobra.Command{
		Use: "new", Short: "Make IDs", Args: shell.Arguments(cobra.NoArgs),
		Long: `Make IDs and write them, ascending, one a line; --json takes them apart.

With --leases the command makes them under a lease, and they are unique in the service. If it gets no
lease it makes none, unless --fallback is given. Without --leases they are fallback IDs: their machine
and sequence are random, and two processes that make IDs in the same millisecond can make the same one.
` + leasehome.About,
		Example: "  kazahana id new\n  kazahana id new -n 3 --leases https://id.example.com --service payments",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 1 {
				return shell.Misuse(cmd, errors.New("--count must be at least 1"))
			}
			if !at.Given() {
				l, err := at.Layout(cmd)
				if err != nil {
					return err
				}
				return makeIDs(cmd.Context(), c, idgen.Options{Layout: l}, count)
			}
			at.Creates = true
			return at.With(cmd, func(ctx context.Context, l *leasehome.Home) error {
				opts := idgen.Options{Provider: l.Provider, ServiceID: at.Service, DisableFallback: !fallback, Logger: c.Logger()}
				if cmd.Flags().Changed("epoch") || cmd.Flags().Changed("bits") {
					opts.Layout = l.Layout
				}
				if opts.DisableFallback {
					opts.Logger = slog.New(slog.DiscardHandler) // its message is the error
				}
				return makeIDs(ctx, c, opts, count)
			})
		},
	}
	at.Add(c, cmd)
	cmd.Flags().IntVarP(&count, "count", "n", 1, "how many")
	cmd.Flags().BoolVar(&fallback, "fallback", false, "make fallback IDs where no lease can be had")
	return cmd
}

// newID is a new ID. Its text is the number alone.
type newID struct{ breakdown }

func (n newID) Lines() []string { return []string{n.ID.String()} }

// makeIDs makes IDs and writes them. It releases the lease at the end, also after an error.
func makeIDs(ctx context.Context, c *shell.Console, opts idgen.Options, count int) (err error) {
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
