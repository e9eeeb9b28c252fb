// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

const aboutTenants = `
A tenant is a directory with all below it: for types in tenants/{TenantID}/orders, tenants/tenant-1.
` + database.AboutPaths + "\n" + database.About

// Command returns kazahana tenant.
func Command(c *shell.Console) *cobra.Command {
	return shell.Group("tenant", "List, copy, move, export, import, lock and remove whole tenants",
		listCommand(c), sizeCommand(c), copyCommand(c), moveCommand(c), exportCommand(c), importCommand(c), verifyCommand(c), removeCommand(c),
		lockCommand(c), unlockCommand(c), abandonCommand(c))
}

// address is where a tenant is: in which set, under which name.
type address struct {
	set  []string
	name string
}

func parseAddress(cmd *cobra.Command, text string) (a address, err error) {
	path, err := database.ParsePath(cmd, text)
	switch {
	case err != nil:
		return a, err
	case len(path) == 0:
		return a, shell.Invalid(errors.New("the root is no tenant: name a directory, such as tenants/tenant-1"))
	}
	return address{path[:len(path)-1], path[len(path)-1]}, nil
}

// parsePair parses the two tenants of a verb: both must be in the same directory.
func parsePair(cmd *cobra.Command, args []string) (from, to address, err error) {
	if from, err = parseAddress(cmd, args[0]); err != nil {
		return from, to, err
	}
	if to, err = parseAddress(cmd, args[1]); err != nil {
		return from, to, err
	}
	if !slices.Equal(from.set, to.set) {
		err = shell.Invalid(fmt.Errorf("%s and %s are in different directories: export the one and import the other", from, to))
	}
	return from, to, err
}

// String returns the path as messages write it.
func (a address) String() string { return database.QuotePath(a.path()) }

// text returns the path as results have it.
func (a address) text() string { return database.FormatPath(a.path()) }

func (a address) path() []string { return append(slices.Clone(a.set), a.name) }

func (a address) of(db *persistable.DB) *tenants.Set { return tenants.Of(db, a.set...) }

// explain adds to an error what to do about it on the command line.
func (a address) explain(ctx context.Context, db *persistable.DB, err error) error {
	locked := (*persistable.LockedError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tenants.ErrNotFound):
		if exists, _ := a.of(db).Exists(ctx, a.name); !exists {
			return database.MissingDirectory(ctx, db, a.of(db).Path(a.name))
		}
	case errors.Is(err, tenants.ErrTooLong):
		return fmt.Errorf("%w: that is, kazahana tenant lock %s, and repeat the command", err, a)
	case errors.Is(err, tenants.ErrUnfinished):
		return fmt.Errorf("%w: that is, kazahana tenant abandon %s", err, a)
	case errors.As(err, &locked):
		return fmt.Errorf("%w; if what locked it does not run any more: kazahana tenant unlock %s", err, a)
	case errors.As(err, new(*tenants.NameError)):
		return shell.Invalid(err)
	}
	return err
}
