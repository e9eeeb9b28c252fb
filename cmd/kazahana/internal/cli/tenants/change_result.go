// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func moveCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "move FROM TO", Short: "Give a tenant another name", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Give a tenant another name in the same directory. It takes one transaction, whatever the tenant holds.
The records have the new name from then on, in every program.
` + aboutTenants,
		Example:           "  kazahana tenant move tenants/tenant-1 tenants/customer-7 --db data",
		ValidArgsFunction: database.CompletePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to, err := parsePair(cmd, args)
			if err != nil {
				return err
			}
			return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
				if err := from.of(db).Move(ctx, from.name, to.name); err != nil {
					return from.explain(ctx, db, err)
				}
				return c.Write(changeResult{Action: "moved", From: from.text(), To: to.text()})
			})
		},
	}
}

func copyCommand(c *shell.Console) *cobra.Command {
	var lock bool
	cmd := &cobra.Command{
		Use: "copy FROM TO", Short: "Copy a tenant to another name", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Copy a tenant to a name in the same directory that does not exist. The copy is of one state, and appears
when it is complete. A locked tenant is read under its lock, which stays. One that is not locked is read at
one version, which is possible for five seconds: enough for some ten megabytes. With --lock, programs
cannot write to it meanwhile. Quota and lock are not copied.
` + aboutTenants,
		Example:           "  kazahana tenant copy tenants/tenant-1 tenants/trial --lock --db data",
		ValidArgsFunction: database.CompletePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to, err := parsePair(cmd, args)
			if err != nil {
				return err
			}
			return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
				var p tenants.Progress
				err := from.whileLocked(ctx, db, lock, "kazahana tenant copy", func(l tenants.Lock) (err error) {
					show := startProgress(ctx, c, db, from, "copying "+from.String())
					defer show.Finish()
					p, err = from.of(db).Copy(ctx, from.name, to.name, tenants.CopyOptions{Lock: l, Progress: func(p tenants.Progress) { show.Set(p.Bytes) }})
					return err
				})
				if errors.Is(err, tenants.ErrUnfinished) {
					return to.explain(ctx, db, err)
				}
				if err != nil {
					return from.explain(ctx, db, err)
				}
				return c.Write(changeResult{"copied", from.text(), to.text(), p.Pairs, p.Bytes})
			})
		},
	}
	addLock(cmd, &lock)
	return cmd
}

// startProgress shows how much of a tenant is read.
func startProgress(ctx context.Context, c *shell.Console, db *persistable.DB, at address, name string) *shell.Progress {
	size, err := at.of(db).ApproximateSize(ctx, at.name)
	if err != nil {
		size = 0 // unknown; the verb meets the same fault
	}
	return c.StartProgress(name, size, shell.Bytes)
}

// changeResult is what was done with a tenant.
type changeResult struct {
	Action string `json:"action"`
	From   string `json:"from"`
	To     string `json:"to"`
	Pairs  int64  `json:"pairs,omitempty"` // keys with their values
	Bytes  int64  `json:"bytes,omitempty"` // of keys and values
}

// Lines implements [shell.Result].
func (d changeResult) Lines() []string {
	text := fmt.Sprintf("%s %s to %s", d.Action, shell.Argument(d.From), shell.Argument(d.To))
	if d.Pairs > 0 {
		text += fmt.Sprintf(": %d keys, %s", d.Pairs, shell.Size(d.Bytes))
	}
	return []string{text}
}
