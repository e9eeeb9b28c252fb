// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
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
// where that is asked for; this lock ends with do, also if the verb is interrupted.
func (a address) whileLocked(ctx context.Context, db *persistable.DB, lock bool, reason string, do func(tenants.Lock) error) error {
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
			return change(cmd, args[0], func(ctx context.Context, db *persistable.DB, at address) error {
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
func (a address) lock(ctx context.Context, db *persistable.DB, reason string) (tenants.Lock, error) {
	l, err := a.of(db).Lock(ctx, a.name, reason)
	if !errors.As(err, new(*persistable.LockedError)) {
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
		Long: `End the lock of a tenant, also one whose program was killed. A copy or an export that runs under the lock
fails.
` + aboutTenants,
		Example:           "  kazahana tenant unlock tenants/tenant-1 --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return change(cmd, args[0], func(ctx context.Context, db *persistable.DB, at address) error {
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
			return change(cmd, args[0], func(ctx context.Context, db *persistable.DB, at address) error {
				if err := at.of(db).Abandon(ctx, at.name); err != nil {
					return err
				}
				return c.Write(abandonResult{at.text()})
			})
		},
	}
}

// change calls do with the tenant of an argument, and the database open for writing.
func change(cmd *cobra.Command, arg string, do func(context.Context, *persistable.DB, address) error) error {
	at, err := parseAddress(cmd, arg)
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
