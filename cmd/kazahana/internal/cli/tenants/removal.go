// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/survey"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func removeCommand(c *shell.Console) *cobra.Command {
	var exported string
	cmd := &cobra.Command{
		Use: "rm PATH", Short: "Remove a tenant with all that it holds", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Remove a tenant with all that it holds. The command shows the directories, types and size of the tenant,
and asks. Programs do not find the tenant any more from the first transaction on; then the contents are
cleared in steps. If the command is interrupted, repeat it. A tenant that another process has made under
that name since the tenant was shown is not removed, nor a locked one.

With --exported, which names a complete file that kazahana tenant export has written, the tenant is removed
only if it still has the lock under which it was exported: so the file has all that it holds.
` + aboutTenants,
		Example:           "  kazahana tenant rm tenants/tenant-1 --db data\n  kazahana tenant rm tenants/tenant-1 --exported tenant-1.export --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseAddress(cmd, args[0])
			if err != nil {
				return err
			}
			var n *survey.Node
			if exported == "" && cmd.Flags().Changed("exported") {
				return shell.Misuse(cmd, errors.New("--exported is empty: name the file"))
			}
			lock, err := lockOfExport(at.name, exported)
			if err != nil {
				return err
			}
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				n, err = examine(ctx, c, db, at, lock)
				if err != nil || n == nil {
					return at.explain(ctx, db, err)
				}
				return c.Confirm(cmd, n.Describe(), "Remove the tenant "+at.String()+"?")
			})
			if err != nil {
				return err
			}
			return change(cmd, args[0], func(ctx context.Context, db *persistable.DB, at address) error {
				return remove(ctx, c, db, at, n, lock)
			})
		},
	}
	cmd.Flags().StringVar(&exported, "exported", "", "remove the tenant only under the lock of this `file`, an export")
	_ = cmd.MarkFlagFilename("exported") // the flag is there
	shell.AddYes(cmd)
	return cmd
}

// lockOfExport returns the lock under which a tenant was exported to a file; none without a file.
func lockOfExport(name, file string) (l tenants.Lock, err error) {
	if file == "" {
		return l, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return l, err
	}
	was, err := tenants.Inspect(f)
	switch err = errors.Join(err, f.Close()); {
	case err != nil:
		return l, explainStream(err)
	case !was.Complete:
		return l, shell.Invalid(fmt.Errorf("the export %s is not complete: export again", shell.Argument(file)))
	case was.LockID == "":
		return l, shell.Invalid(fmt.Errorf("the export %s was not made under a lock, so that it may lack what programs have written since: kazahana tenant lock, and export again", shell.Argument(file)))
	}
	return tenants.Lock{Tenant: name, ID: was.LockID}, nil
}

// examine returns what a tenant holds that has the lock, or none; nil if there is no tenant.
func examine(ctx context.Context, c *shell.Console, db *persistable.DB, at address, lock tenants.Lock) (*survey.Node, error) {
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
	switch {
	case err != nil || l.ID == lock.ID:
	case lock.ID != "":
		err = tenants.ErrLockLost
	case locked:
		err = &persistable.LockedError{Path: path, Reason: l.Reason}
	}
	return n, err
}

// remove removes the tenant that was shown, or what an interrupted removal has left of
// others of that name. A tenant that another process has made since stays.
func remove(ctx context.Context, c *shell.Console, db *persistable.DB, at address, n *survey.Node, lock tenants.Lock) (err error) {
	show := c.StartProgress("removing "+at.String(), 0, shell.Bytes)
	made := false
	if lock.ID != "" && n != nil {
		err = at.of(db).DeleteLocked(ctx, lock)
	} else {
		err = at.of(db).DeleteIf(ctx, at.name, func(_ kv.ReadTransaction, d *directory.Directory) error {
			if made = n == nil; made {
				return tenants.ErrNotFound
			}
			return n.CheckSame(d)
		})
	}
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
