// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

// leaseCommand returns kazahana lease.
func leaseCommand(c *shell.Console) *cobra.Command {
	g := shell.Group("lease", "Serve, list, acquire and release leases of machine ids",
		serveCommand(c), servicesCommand(c), listLeasesCommand(c), acquireCommand(c), releaseCommand(c), quarantineCommand(c))
	g.Long = "Serve, list, acquire and release leases of machine ids.\n" + leasehome.About
	return g
}

func listLeasesCommand(c *shell.Console) *cobra.Command {
	var (
		at    leasehome.Flags
		ended bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List the leases of a service", Args: shell.Arguments(cobra.NoArgs),
		Long:    "List the leases of a service, in the order of their positions, without their secrets.\n" + leasehome.About,
		Example: "  kazahana lease list --leases sqlite:leases.db\n  kazahana lease list --leases redis://localhost:6379 --service payments --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.With(cmd, func(ctx context.Context, l *leasehome.Home) error {
				return l.EachLease(ctx, at.Service, lease.ListOptions{Ended: ended}, func(info lease.Info) error { return c.Write(listedLease{info}) })
			})
		},
	}
	at.Add(c, cmd)
	cmd.Flags().BoolVar(&ended, "ended", false, "also leases that have ended or were released, until their positions are leased again")
	return cmd
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
	return []string{fmt.Sprintf("machine %-6d bits %-3d %-9s %s to %s%s", l.ID, l.SequenceBits, state, shell.Stamp(l.Created), shell.Stamp(l.Expired), shell.Pairs(l.Meta))}
}

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
			if err := shell.AtLeast(cmd, "throughput", req.Throughput, 1); err != nil {
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
	cmd.Flags().IntVar(&req.Throughput, "throughput", 1, "`number` of IDs a millisecond")
	cmd.Flags().StringVar(&req.RequestKey, "request-key", "", "`text` that makes the request idempotent: the same for each try")
	cmd.Flags().StringToStringVar(&req.Meta, "meta", nil, "`name=value` pairs to show in listings")
	return cmd
}

// grantedLease is a lease with its secret, which only JSON shows.
type grantedLease struct{ idgen.Lease }

func (g grantedLease) Lines() []string {
	return []string{fmt.Sprintf("machine %-6d bits %-3d %s to %s", g.ID, g.SequenceBits, stampMs(g.Created), stampMs(g.Expired))}
}

func stampMs(ms int64) string { return shell.Stamp(time.UnixMilli(ms)) }

func releaseCommand(c *shell.Console) *cobra.Command {
	var (
		at     leasehome.Flags
		lastMs int64
		unused bool
	)
	cmd := &cobra.Command{
		Use: "release [file...]", Short: "Release leases, given as JSON",
		Long: `Release leases. The files, or the input, have the JSON that lease acquire has written, with the secret.
Other clients can have the positions of a lease from the millisecond after its last ID on: that is now,
unless --last-ts or --unused says otherwise. Make no ID under the lease afterwards. Releasing a lease
again does no harm; the first release counts.
` + leasehome.About,
		Example: "  kazahana lease release --leases https://id.example.com --service payments lease.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if unused && cmd.Flags().Changed("last-ts") {
				return shell.Misuse(cmd, errors.New("--unused and --last-ts exclude each other"))
			}
			return at.With(cmd, func(ctx context.Context, l *leasehome.Home) error {
				return eachLeaseOf(c, args, func(g idgen.Lease) error {
					if !cmd.Flags().Changed("last-ts") { // the input may have come only now
						lastMs = time.Now().UnixMilli()
					}
					last := lastUsed(g, lastMs, unused)
					r := releaseResult{Service: at.Service, ID: g.ID, SequenceBits: g.SequenceBits, LastTs: &last}
					err := l.Provider.Release(ctx, g.Release(at.Service, last, time.Now()))
					if errors.Is(err, lease.ErrLastTs) && !unused && !cmd.Flags().Changed("last-ts") {
						r.LastTs, r.Before, err = nil, true, nil // only now is later than at the first attempt
					}
					if err != nil {
						return err
					}
					return c.Write(r)
				})
			})
		},
	}
	at.Add(c, cmd)
	cmd.Flags().Int64Var(&lastMs, "last-ts", 0, "last `millisecond`, Unix, in which an ID was made")
	cmd.Flags().Lookup("last-ts").DefValue = "now"
	cmd.Flags().BoolVar(&unused, "unused", false, "no ID was made under the lease")
	return cmd
}

// lastUsed returns the last millisecond in which an ID was made under a lease: lastMs, moved
// into the time of the lease, because the clock of this machine may differ from the holder's.
// With unused it is the millisecond before the lease.
func lastUsed(g idgen.Lease, lastMs int64, unused bool) int64 {
	if unused {
		return g.Created - 1
	}
	return min(max(lastMs, g.Created), g.Expired-1)
}

type releaseResult struct {
	Service      string `json:"service"`
	ID           int64  `json:"id"`
	SequenceBits int    `json:"bitSeq"`
	LastTs       *int64 `json:"lastTs,omitempty"`
	Before       bool   `json:"before,omitempty"` // it was released before, with another last millisecond
}

func (r releaseResult) Lines() []string {
	when := ""
	if r.Before {
		when = " before"
	}
	return []string{fmt.Sprintf("machine %-6d bits %-3d released%s", r.ID, r.SequenceBits, when)}
}

// eachLeaseOf calls do with each lease in the files or, where there are none, on
// the input.
func eachLeaseOf(c *shell.Console, files []string, do func(idgen.Lease) error) error {
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		if err := eachLeaseIn(c, name, do); err != nil {
			return err
		}
	}
	return nil
}

func eachLeaseIn(c *shell.Console, name string, do func(idgen.Lease) error) error {
	in, err := openInput(c, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if name == "-" {
		name = "the input"
	}
	return decodeLeases(in, name, do)
}

// decodeLeases calls do with each lease of an input. Errors begin with its name.
func decodeLeases(in io.Reader, name string, do func(idgen.Lease) error) error {
	for dec := json.NewDecoder(in); ; {
		var g idgen.Lease
		err := dec.Decode(&g)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return shell.Invalid(fmt.Errorf("%s: this is not a lease in JSON: %w", name, err))
		}
		if err := g.Validate(); err != nil {
			return shell.Invalid(fmt.Errorf("%s: %w", name, err))
		}
		if err := do(g); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

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

func servicesCommand(c *shell.Console) *cobra.Command {
	var at leasehome.Flags
	cmd := &cobra.Command{
		Use: "services", Short: "List the services that there are leases of", Args: shell.Arguments(cobra.NoArgs),
		Long:    "List the services that a store or a lease server knows: those that have, or had, a lease.\n" + leasehome.About,
		Example: "  kazahana lease services --leases sqlite:leases.db",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.With(cmd, func(ctx context.Context, l *leasehome.Home) error {
				return l.EachService(ctx, func(id string) error { return c.Write(leaseService{id}) })
			})
		},
	}
	at.Add(c, cmd)
	_ = cmd.Flags().MarkHidden("service") // it is about all of them
	return cmd
}

// leaseService is a line of a listing.
type leaseService struct {
	Service string `json:"service"`
}

func (s leaseService) Lines() []string { return []string{s.Service} }
