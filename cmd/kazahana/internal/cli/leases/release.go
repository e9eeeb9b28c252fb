// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

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
					r := releaseResult{Service: at.Service, ID: g.ID, BitSeq: g.BitSeq, LastTs: &last}
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
	Service string `json:"service"`
	ID      int64  `json:"id"`
	BitSeq  int    `json:"bitSeq"`
	LastTs  *int64 `json:"lastTs,omitempty"`
	Before  bool   `json:"before,omitempty"` // it was released before, with another last millisecond
}

func (r releaseResult) Lines() []string {
	when := ""
	if r.Before {
		when = " before"
	}
	return []string{fmt.Sprintf("machine %-6d bits %-3d released%s", r.ID, r.BitSeq, when)}
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
	if name == "-" {
		return decodeLeases(c.In, "the input", do)
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return decodeLeases(file, name, do)
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
