// SPDX-License-Identifier: Apache-2.0

package dirs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/survey"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

func moveCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "mv FROM TO", Short: "Give a directory another path", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Move a directory with all below it to another path, whose parent must exist. It takes one transaction,
whatever the directory holds.

The command refuses a target that exists, a path in another partition, the directories that the database
itself needs, and directories with stores, since programs look for their records at the old path. To give
a tenant another name, use kazahana tenant move.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana dir mv archive/2025 old/2025 --db data",
		ValidArgsFunction: database.CompletePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := database.ParsePath(cmd, args[0])
			if err != nil {
				return err
			}
			to, err := database.ParsePath(cmd, args[1])
			if err != nil {
				return err
			}
			var n *survey.Node
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				n, err = checkMove(ctx, c, db, from, to)
				return err
			})
			if err != nil {
				return err
			}
			return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
				if err := move(ctx, db, n, to); err != nil {
					return err
				}
				return c.Write(moveResult{database.FormatPath(from), database.FormatPath(to)})
			})
		},
	}
}

// checkMove refuses a move that would break something. It returns what is to be moved.
func checkMove(ctx context.Context, c *shell.Console, db *persistable.DB, from, to []string) (*survey.Node, error) {
	if err := checkSystem(db, from); err != nil {
		return nil, err
	}
	if err := checkSystem(db, to); err != nil {
		return nil, err
	}
	n, err := survey.Survey{DB: db, Depth: -1}.ReadShown(ctx, c, from...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, database.MissingDirectory(ctx, db, from)
	}
	if err != nil {
		return nil, err
	}
	return n, checkStores(n, from, to)
}

// move moves the directories that were examined, and no others that another process has
// made or moved there since.
func move(ctx context.Context, db *persistable.DB, n *survey.Node, to []string) error {
	err := db.MoveDirectoryIf(ctx, n.Path, to, func(tx kv.ReadTransaction, _ *directory.Directory) error {
		all, err := checkTree(ctx, tx, db, n)
		if err != nil {
			return err
		}
		return checkNewStores(ctx, tx, all, n.Path, to)
	})
	if errors.Is(err, directory.ErrParentNotFound) {
		return errors.Join(err, database.MissingDirectory(ctx, db, to[:max(len(to)-1, 0)]))
	}
	return err
}

// checkSystem refuses the root and the directories that the database itself needs.
func checkSystem(db *persistable.DB, path []string) error {
	switch {
	case len(path) == 0:
		return shell.Invalid(errors.New("the root is always there: it can be neither moved nor removed"))
	case db.HoldsSystem(path...):
		return shell.Invalid(fmt.Errorf("%s holds what the database itself needs: leases, elections, placements, the key of page tokens", database.QuotePath(path)))
	}
	return nil
}

// checkStores refuses to move stores to where their programs do not look for them.
func checkStores(n *survey.Node, from, to []string) error {
	for d := range n.All {
		if len(d.Headers) == 0 {
			continue
		}
		return storesError(d.Path, d.Types(), from, to)
	}
	return nil
}

func storesError(at, types, from, to []string) error {
	return shell.Invalid(fmt.Errorf("%s holds records of the type %s, whose programs look for them there: they would not find them below %s; if %s is a tenant, use kazahana tenant move",
		database.QuotePath(at), strings.Join(types, ", "), database.QuotePath(to), database.QuotePath(from)))
}

// checkNewStores is checkStores in the transaction of the move: a program may have stored
// records since.
func checkNewStores(ctx context.Context, tx kv.ReadTransaction, all []*directory.Directory, from, to []string) error {
	all = slices.DeleteFunc(slices.Clone(all), (*directory.Directory).IsPartition)
	prefixes := make([][]byte, len(all))
	for i, d := range all {
		prefixes[i] = d.Reserve().Begin
	}
	found, err := headers.ReadAll(ctx, tx, prefixes)
	if err != nil {
		return err
	}
	for i, stores := range found {
		if len(stores) > 0 {
			return storesError(all[i].Path(), headers.Types(stores), from, to)
		}
	}
	return nil
}
