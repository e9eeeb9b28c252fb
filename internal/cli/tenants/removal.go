// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/cli/survey"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func removeCommand(c *shell.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm PATH", Short: "Remove a tenant with all that it holds", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Remove a tenant with all that it holds. The command shows the directories, types and size of the tenant,
and asks. Programs do not find the tenant any more from the first transaction on; then the contents are
cleared in steps. If the command is interrupted, repeat it. A locked tenant is not removed, nor one that
another process has made under that name since the tenant was shown.
` + aboutTenants,
		Example:           "  kazahana tenant rm tenants/tenant-1 --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseAddress(cmd, args[0])
			if err != nil {
				return err
			}
			var n *survey.Node
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				n, err = examine(ctx, c, db, at)
				if err != nil || n == nil {
					return at.explain(ctx, db, err)
				}
				return c.Confirm(cmd, n.Describe(), "Remove the tenant "+at.String()+"?")
			})
			if err != nil {
				return err
			}
			return change(cmd, args[0], func(ctx context.Context, db *persistable.DB, at address) error {
				return remove(ctx, c, db, at, n)
			})
		},
	}
	shell.AddYes(cmd)
	return cmd
}

// examine returns what an unlocked tenant holds; nil if there is no tenant.
func examine(ctx context.Context, c *shell.Console, db *persistable.DB, at address) (*survey.Node, error) {
	path := at.of(db).Path(at.name)
	if db.HoldsSystem(path...) {
		return nil, &tenants.NameError{Path: path, Reason: "is a directory that the database itself needs"}
	}
	n, err := survey.Survey{DB: db, Depth: -1, Sizes: true}.ReadShown(ctx, c, path...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l, locked, err := at.of(db).LockOf(ctx, at.name)
	if locked {
		err = &persistable.LockedError{Path: path, Reason: l.Reason}
	}
	return n, err
}

// remove removes the tenant that was shown, or what an interrupted removal has left of
// others of that name. A tenant that another process has made since stays.
func remove(ctx context.Context, c *shell.Console, db *persistable.DB, at address, n *survey.Node) error {
	show := c.StartProgress("removing "+at.String(), 0, shell.Bytes)
	made := false
	err := at.of(db).DeleteIf(ctx, at.name, func(_ kv.ReadTransaction, d *directory.Directory) error {
		if made = n == nil; made {
			return tenants.ErrNotFound
		}
		return n.CheckSame(d)
	})
	show.Finish()
	switch {
	case made && errors.Is(err, tenants.ErrNotFound):
		return database.Missing(fmt.Errorf("there was no tenant %s, and another process has made %s meanwhile: nothing was changed", at, at))
	case err != nil:
		return err
	case n == nil:
		return c.Write(removal{Path: at.text()})
	}
	return c.Write(removal{at.text(), n.Total.Directories, n.Total.Stores, n.Total.Bytes})
}

// removal is a tenant that was removed.
type removal struct {
	Path        string `json:"path"`
	Directories int    `json:"directories"`
	Stores      int    `json:"stores"`
	Bytes       int64  `json:"bytes"` // estimated
}

// Lines implements [shell.Result].
func (r removal) Lines() []string {
	return []string{"removed " + shell.Argument(r.Path) + ", about " + shell.Size(r.Bytes)}
}
