// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

func (c *command) leaseRelease() *cobra.Command {
	var (
		at     leaseFlags
		lastMs int64
		unused bool
	)
	cmd := &cobra.Command{
		Use: "release [file...]", Short: "Release leases, given as JSON",
		Long: `Release leases that were acquired, given as the JSON of lease acquire, secret included, in files
or on the input. Others can have their positions from the millisecond after the last one in which
an ID was made: now, unless --last-ts or --unused says otherwise. Make none afterwards. Releasing a
lease again does no harm; what was said first counts.
` + aboutLeases,
		Example: "  kazahana lease release --leases https://id.example.com --service payments lease.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if unused && cmd.Flags().Changed("last-ts") {
				return shell.Misuse(cmd, errors.New("--unused and --last-ts exclude each other"))
			}
			return at.with(cmd, func(ctx context.Context, l *leases) error {
				return c.leasesOf(args, func(g idgen.Lease) error {
					last := lastUsed(g, lastMs, unused)
					r := released{Service: at.service, ID: g.ID, BitSeq: g.BitSeq, LastTs: &last}
					err := l.provider.Release(ctx, g.Release(at.service, last, time.Now()))
					if errors.Is(err, lease.ErrLastTs) && !unused && !cmd.Flags().Changed("last-ts") {
						r.LastTs, r.Before, err = nil, true, nil // only now is later than it was then
					}
					if err != nil {
						return err
					}
					return c.Write(r)
				})
			})
		},
	}
	at.add(c, cmd)
	cmd.Flags().Int64Var(&lastMs, "last-ts", time.Now().UnixMilli(), "last `millisecond`, Unix, in which an ID was made")
	cmd.Flags().Lookup("last-ts").DefValue = "now"
	cmd.Flags().BoolVar(&unused, "unused", false, "no ID was made under the lease")
	return cmd
}

// lastUsed returns the last millisecond of a lease in which an ID was made:
// lastMs, by this machine's clock perhaps, which may be behind that of whoever
// made it. So it is one of the lease, unless none was made for certain.
func lastUsed(g idgen.Lease, lastMs int64, unused bool) int64 {
	if unused {
		return g.Created - 1
	}
	return min(max(lastMs, g.Created), g.Expired-1)
}

type released struct {
	Service string `json:"service"`
	ID      int64  `json:"id"`
	BitSeq  int    `json:"bitSeq"`
	LastTs  *int64 `json:"lastTs,omitempty"`
	Before  bool   `json:"before,omitempty"` // it had been released before, with another last millisecond
}

func (r released) Lines() []string {
	when := ""
	if r.Before {
		when = " before"
	}
	return []string{fmt.Sprintf("machine %-6d bits %-3d released%s", r.ID, r.BitSeq, when)}
}

// leasesOf calls do with each lease in the files or, where there are none, on
// the input.
func (c *command) leasesOf(files []string, do func(idgen.Lease) error) error {
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		if err := c.leasesIn(name, do); err != nil {
			return err
		}
	}
	return nil
}

func (c *command) leasesIn(name string, do func(idgen.Lease) error) error {
	if name == "-" {
		return eachLeaseOf(c.In, "the input", do)
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return eachLeaseOf(file, name, do)
}

// eachLeaseOf calls do with each lease in what is called name.
func eachLeaseOf(in io.Reader, name string, do func(idgen.Lease) error) error {
	for dec := json.NewDecoder(in); ; {
		var g idgen.Lease
		err := dec.Decode(&g)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return shell.Invalid(fmt.Errorf("%s: this is no lease in JSON: %w", name, err))
		}
		if err := g.Validate(); err != nil {
			return shell.Invalid(fmt.Errorf("%s: %w", name, err))
		}
		if err := do(g); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}
