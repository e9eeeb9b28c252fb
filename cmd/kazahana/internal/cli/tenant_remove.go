// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// addLock adds the flag of verbs that can lock what they read.
func addLock(cmd *cobra.Command, lock *bool) {
	cmd.Flags().BoolVar(lock, "lock", false, "lock the tenant while the command runs, unless it is locked already")
}

// unlockTime bounds how long an interrupted verb waits for its lock to end.
const unlockTime = 10 * time.Second

// whileLocked calls do with the lock of the tenant, which stays. If it has none, do has a lock
// where that is asked for; this lock ends with do, even if the verb is interrupted.
func (a tenantAddress) whileLocked(ctx context.Context, db *persistable.DB, lock bool, reason string, do func(tenants.Lock) error) error {
	l, locked, err := a.of(db).LockOf(ctx, a.name)
	if err != nil {
		return err
	}
	if locked {
		return do(l)
	}
	if !lock {
		return do(tenants.Lock{})
	}
	if l, err = a.of(db).Lock(ctx, a.name, reason); err != nil {
		return err
	}
	err = do(l)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
	defer cancel()
	return errors.Join(err, a.of(db).Unlock(ctx, l))
}

func lockCommand(c *shell.Console) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "lock PATH", Short: "Keep programs from writing to a tenant", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Keep all programs from writing to a tenant through stores, until kazahana tenant unlock. Reads go on. A
tenant that is locked for the same reason stays locked; if it is for another one, the command fails.
` + aboutTenants,
		Example:           "  kazahana tenant lock tenants/tenant-1 --reason 'moves to another cluster' --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeLock(cmd, args[0], func(ctx context.Context, db *persistable.DB, at tenantAddress) error {
				l, err := at.lock(ctx, db, reason)
				if err != nil {
					return err
				}
				return c.Write(lockState{at.text(), &l})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "kazahana tenant lock", "`text` that programs get with their errors")
	return cmd
}

// lock locks a tenant, or returns the lock that it has for the same reason.
func (a tenantAddress) lock(ctx context.Context, db *persistable.DB, reason string) (tenants.Lock, error) {
	l, err := a.of(db).Lock(ctx, a.name, reason)
	if !errors.Is(err, persistable.ErrLocked) {
		return l, err
	}
	known, locked, readErr := a.of(db).LockOf(ctx, a.name)
	if locked && known.Reason == reason {
		return known, nil
	}
	return l, errors.Join(err, readErr)
}

func unlockCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "unlock PATH", Short: "End the lock of a tenant", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `End the lock of a tenant, even one that a killed program has left. A copy or an export that runs under the lock
fails.
` + aboutTenants,
		Example:           "  kazahana tenant unlock tenants/tenant-1 --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeLock(cmd, args[0], func(ctx context.Context, db *persistable.DB, at tenantAddress) error {
				l, locked, err := at.of(db).LockOf(ctx, at.name)
				if err != nil {
					return err
				}
				if locked {
					if err := at.of(db).Unlock(ctx, l); err != nil {
						return err
					}
				}
				return c.Write(lockState{at.text(), nil})
			})
		},
	}
}

func abandonCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "abandon PATH", Short: "Remove what an unfinished copy or import has left", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Remove what an interrupted copy or import to a name has left, which programs do not see. If it still
runs, it fails. The tenant of that name, if there is one, is not touched.
` + aboutTenants,
		Example:           "  kazahana tenant abandon tenants/trial --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeLock(cmd, args[0], func(ctx context.Context, db *persistable.DB, at tenantAddress) error {
				if err := at.of(db).Abandon(ctx, at.name); err != nil {
					return err
				}
				return c.Write(abandonResult{at.text()})
			})
		},
	}
}

// changeLock calls do with the tenant of an argument, and the database open for writing.
func changeLock(cmd *cobra.Command, arg string, do func(context.Context, *persistable.DB, tenantAddress) error) error {
	at, err := parseTenantAddress(cmd, arg)
	if err != nil {
		return err
	}
	return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
		return at.explain(ctx, db, do(ctx, db, at))
	})
}

// lockState is whether a tenant is locked.
type lockState struct {
	Path string        `json:"path"`
	Lock *tenants.Lock `json:"lock"` // null: it is not locked
}

// Lines implements [shell.Result].
func (s lockState) Lines() []string {
	if s.Lock == nil {
		return []string{shell.Argument(s.Path) + " is not locked"}
	}
	return []string{fmt.Sprintf("%s is locked: %s", shell.Argument(s.Path), shell.Word(s.Lock.Reason))}
}

// abandonResult is the name of which nothing unfinished is left.
type abandonResult struct {
	Path string `json:"path"`
}

// Lines implements [shell.Result].
func (a abandonResult) Lines() []string {
	return []string{"nothing unfinished is left of " + shell.Argument(a.Path)}
}

func removeTenantCommand(c *shell.Console) *cobra.Command {
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
			at, err := parseTenantAddress(cmd, args[0])
			if err != nil {
				return err
			}
			var n *database.Node
			if exported == "" && cmd.Flags().Changed("exported") {
				return shell.Misuse(cmd, errors.New("--exported is empty: name the file"))
			}
			lock, err := lockOfExport(at.name, exported)
			if err != nil {
				return err
			}
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				n, err = examineTenant(ctx, c, db, at, lock)
				if err != nil || n == nil {
					return at.explain(ctx, db, err)
				}
				return c.Confirm(cmd, n.Describe(), "Remove the tenant "+at.String()+"?")
			})
			if err != nil {
				return err
			}
			return changeLock(cmd, args[0], func(ctx context.Context, db *persistable.DB, at tenantAddress) error {
				return removeTenant(ctx, c, db, at, n, lock)
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

// examineTenant returns what a tenant holds that has the lock, or none; nil if there is no tenant.
func examineTenant(ctx context.Context, c *shell.Console, db *persistable.DB, at tenantAddress, lock tenants.Lock) (*database.Node, error) {
	path := at.of(db).Path(at.name)
	if db.HoldsSystem(path...) {
		_, err := at.of(db).Exists(ctx, at.name) // says why it cannot be a tenant
		return nil, err
	}
	n, err := database.Survey{DB: db, Depth: -1, Sizes: true}.ReadShown(ctx, c, path...)
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
		err = tenancy.Locked("", path, l.Reason)
	}
	return n, err
}

// removeTenant removes the tenant that was shown, or what an interrupted removal has left of
// others of that name. A tenant that another process has made since stays.
func removeTenant(ctx context.Context, c *shell.Console, db *persistable.DB, at tenantAddress, n *database.Node, lock tenants.Lock) (err error) {
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
		return database.Missing(fmt.Errorf("there was no tenant %s, and another process has just made %s: nothing was changed", at, at))
	case err != nil:
		return err
	case n == nil:
		return c.Write(tenantRemoval{Path: at.text()})
	}
	return c.Write(tenantRemoval{at.text(), n.Total})
}

// tenantRemoval is a tenant that was removed.
type tenantRemoval struct {
	Path string `json:"path"`
	database.Total
}

// Lines implements [shell.Result].
func (r tenantRemoval) Lines() []string {
	return []string{"removed " + shell.Argument(r.Path) + ", about " + shell.Size(r.Bytes)}
}
