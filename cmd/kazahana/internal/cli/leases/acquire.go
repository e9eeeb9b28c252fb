// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func acquireCommand(c *shell.Console) *cobra.Command {
	var (
		at  leasehome.Flags
		req idgen.AcquireRequest
	)
	cmd := &cobra.Command{
		Use: "acquire", Short: "Acquire leases by hand", Args: shell.Arguments(cobra.NoArgs),
		Long: `Acquire leases by hand, for programs that have no client of their own. With --json they come
with their secrets: keep them for lease release, which reads them.
` + leasehome.About,
		Example: "  kazahana lease acquire --leases https://id.example.com --service payments --json > lease.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := shell.AtLeast(cmd, "throughput", req.ThroughputPerMs, 1); err != nil {
				return err
			}
			at.Creates = true
			return at.With(cmd, func(ctx context.Context, l *leasehome.Home) error {
				req.ServiceID = at.Service
				granted, err := l.Provider.Acquire(ctx, req)
				if err != nil {
					return err
				}
				for _, g := range granted {
					if err := c.Write(grantedLease{g}); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	at.Add(c, cmd)
	cmd.Flags().IntVar(&req.ThroughputPerMs, "throughput", 1, "`number` of IDs a millisecond")
	cmd.Flags().StringVar(&req.RequestKey, "request-key", "", "`text` that makes the request idempotent: the same for each try")
	cmd.Flags().StringToStringVar(&req.Meta, "meta", nil, "`name=value` pairs to show in listings")
	return cmd
}

// grantedLease is a lease with its secret, which only JSON shows.
type grantedLease struct{ idgen.Lease }

func (g grantedLease) Lines() []string {
	return []string{fmt.Sprintf("machine %-6d bits %-3d %s to %s", g.ID, g.BitSeq, stampMs(g.Created), stampMs(g.Expired))}
}

func stampMs(ms int64) string { return shell.Stamp(time.UnixMilli(ms)) }
