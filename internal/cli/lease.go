// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

func (c *command) lease() *cobra.Command {
	g := shell.Group("lease", "Serve, list, acquire and release leases of machine ids",
		c.leaseServe(), c.leaseServices(), c.leaseList(), c.leaseAcquire(), c.leaseRelease(), c.leaseQuarantine())
	g.Long = "Serve, list, acquire and release leases of machine ids.\n" + aboutLeases
	return g
}

func (c *command) leaseList() *cobra.Command {
	var (
		at    leaseFlags
		ended bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List the leases of a service", Args: shell.Arguments(cobra.NoArgs),
		Long:    "List the leases of a service, in the order of their positions, without their secrets.\n" + aboutLeases,
		Example: "  kazahana lease list --leases sqlite:leases.db\n  kazahana lease list --leases redis://localhost:6379 --service payments --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.with(cmd, func(ctx context.Context, l *leases) error { return c.listLeases(ctx, l, at.service, ended) })
		},
	}
	at.add(c, cmd)
	cmd.Flags().BoolVar(&ended, "ended", false, "also leases that have ended or were released, while nobody else has their positions")
	return cmd
}

func (c *command) listLeases(ctx context.Context, l *leases, service string, ended bool) error {
	return l.eachLease(ctx, service, lease.ListOptions{Ended: ended}, func(info lease.Info) error { return c.Write(listedLease{info}) })
}

// eachLease calls do with each lease of a service, a page at a time.
func (l *leases) eachLease(ctx context.Context, service string, options lease.ListOptions, do func(lease.Info) error) error {
	for {
		page, err := l.list(ctx, service, options)
		if err != nil {
			return err
		}
		for _, info := range page.Leases {
			if err := do(info); err != nil {
				return err
			}
		}
		if options.After = page.Next; options.After == "" {
			return nil
		}
	}
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
	return []string{fmt.Sprintf("machine %-6d bits %-3d %-9s %s to %s%s", l.ID, l.BitSeq, state, stamp(l.Created), stamp(l.Expired), describe(l.Meta))}
}

func (c *command) leaseAcquire() *cobra.Command {
	var (
		at  leaseFlags
		req idgen.AcquireRequest
	)
	cmd := &cobra.Command{
		Use: "acquire", Short: "Acquire leases by hand", Args: shell.Arguments(cobra.NoArgs),
		Long: `Acquire leases by hand, for programs that have no client of their own. With --json they come
with their secrets: keep them for lease release, which reads them.
` + aboutLeases,
		Example: "  kazahana lease acquire --leases https://id.example.com --service payments --json > lease.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			at.creates = true
			return at.with(cmd, func(ctx context.Context, l *leases) error {
				req.ServiceID = at.service
				granted, err := l.provider.Acquire(ctx, req)
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
	at.add(c, cmd)
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

func (c *command) leaseQuarantine() *cobra.Command {
	var (
		at   leaseFlags
		span time.Duration
		end  bool
	)
	cmd := &cobra.Command{
		Use: "quarantine", Short: "Grant nothing until leases that were forgotten have ended", Args: shell.Arguments(cobra.NoArgs),
		Long: `Grant nothing of a service for a while: after its store was restored from a backup, which knows
leases of another day only. Programs go on with the leases they have, and with fallback.

A store that is empty begins so by itself, unless --fresh is given when it is first used. --end
ends that: only where it is certain that no lease is in use which the store does not know.
` + aboutLeases,
		Example: "  kazahana lease quarantine --leases embedded:data --service payments",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if end && cmd.Flags().Changed("for") {
				return shell.Misuse(cmd, errors.New("--end and --for do not go together"))
			}
			return at.with(cmd, func(ctx context.Context, l *leases) error {
				if l.quarantine == nil {
					return shell.Misuse(cmd, errors.New("--leases: name the store, not a server of its leases"))
				}
				if end {
					return c.endQuarantine(ctx, l, at.service)
				}
				until, err := l.quarantine.Quarantine(ctx, at.service, span)
				if err != nil {
					return err
				}
				return c.Write(quarantined{Service: at.service, Until: &until})
			})
		},
	}
	at.add(c, cmd)
	cmd.Flags().DurationVar(&span, "for", 0, "`duration`; 0: that of a lease and a minute")
	cmd.Flags().BoolVar(&end, "end", false, "grant leases again at once: nothing was lost")
	return cmd
}

func (c *command) endQuarantine(ctx context.Context, l *leases, service string) error {
	if err := l.quarantine.EndQuarantine(ctx, service); err != nil {
		return err
	}
	return c.Write(quarantined{Service: service})
}

type quarantined struct {
	Service string     `json:"service"`
	Until   *time.Time `json:"until"` // nil when it was ended
}

func (q quarantined) Lines() []string {
	if q.Until == nil {
		return []string{"leases are granted again"}
	}
	return []string{"nothing is granted until " + stamp(*q.Until)}
}

func stampMs(ms int64) string { return stamp(time.UnixMilli(ms)) }

// stamp formats a time to the second.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// describe formats the description of a holder.
func describe(meta map[string]string) string {
	text := ""
	for _, name := range sortedKeys(meta) {
		text += " " + shell.Word(name) + "=" + shell.Word(meta[name])
	}
	return text
}
