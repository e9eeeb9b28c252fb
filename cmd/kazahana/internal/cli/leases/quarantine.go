// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func quarantineCommand(c *shell.Console) *cobra.Command {
	var (
		at   leasehome.Flags
		span time.Duration
		end  bool
	)
	cmd := &cobra.Command{
		Use: "quarantine", Short: "Grant nothing until leases that were forgotten have ended", Args: shell.Arguments(cobra.NoArgs),
		Long: `Grant no lease of a service for a while. Use it after the service's store was restored from a backup: the
backup does not know the leases that were granted after it was made. Programs go on with the leases that
they have, then with fallback IDs.

A store that is empty begins so by itself, unless --fresh is given when it is first used. --end
ends that. Use --end only if it is certain that no program uses a lease that the store does not know.
` + leasehome.About,
		Example: "  kazahana lease quarantine --leases embedded:data --service payments",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if end && cmd.Flags().Changed("for") {
				return shell.Misuse(cmd, errors.New("--end and --for do not go together"))
			}
			if err := shell.AtLeast(cmd, "for", span, 0); err != nil {
				return err
			}
			return at.With(cmd, func(ctx context.Context, l *leasehome.Home) error {
				if l.Quarantine == nil {
					return shell.Misuse(cmd, errors.New("--leases: name the store, not a server of its leases"))
				}
				if end {
					return endQuarantine(ctx, c, l, at.Service)
				}
				until, err := l.Quarantine.Quarantine(ctx, at.Service, span)
				if err != nil {
					return err
				}
				return c.Write(quarantineResult{Service: at.Service, Until: &until})
			})
		},
	}
	at.Add(c, cmd)
	cmd.Flags().DurationVar(&span, "for", 0, "`duration`; 0: that of a lease and a minute")
	cmd.Flags().BoolVar(&end, "end", false, "grant leases again at once: nothing was lost")
	return cmd
}

func endQuarantine(ctx context.Context, c *shell.Console, l *leasehome.Home, service string) error {
	if err := l.Quarantine.EndQuarantine(ctx, service); err != nil {
		return err
	}
	return c.Write(quarantineResult{Service: service})
}

type quarantineResult struct {
	Service string     `json:"service"`
	Until   *time.Time `json:"until"` // nil when it was ended
}

func (q quarantineResult) Lines() []string {
	if q.Until == nil {
		return []string{"leases are granted again"}
	}
	return []string{"nothing is granted until " + shell.Stamp(*q.Until)}
}
