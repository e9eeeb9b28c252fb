// SPDX-License-Identifier: Apache-2.0

package dirs

import (
	"context"
	"errors"
	"fmt"

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
	cmd := &cobra.Command{
		Use: "rm PATH", Short: "Remove a directory with all below it", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Remove a directory with all keys in it, and all directories below it. The command shows what it would
remove, and asks. It refuses the directories that the database itself needs, locked tenants, and what
another process has made or moved there since it was shown.

One transaction removes all. For a large tenant in use, kazahana tenant rm removes in steps.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana dir rm archive/2025 --db data\n  kazahana dir rm archive/2025 --db data --yes --json",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := database.ParsePath(cmd, args[0])
			if err != nil {
				return err
			}
			var n *survey.Node
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				if n, err = examine(ctx, c, db, path); err != nil {
					return err
				}
				return c.Confirm(cmd, n.Describe(), "Remove "+database.QuotePath(path)+" with all that is in it?")
			})
			if err != nil {
				return err
			}
			return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
				if err := remove(ctx, db, n); err != nil {
					return err
				}
				return c.Write(removal{database.FormatPath(path), n.Total.Directories, n.Total.Stores, n.Total.Bytes})
			})
		},
	}
	shell.AddYes(cmd)
	return cmd
}

// examine returns what is in a directory that may be removed.
func examine(ctx context.Context, c *shell.Console, db *persistable.DB, path []string) (*survey.Node, error) {
	if err := checkSystem(db, path); err != nil {
		return nil, err
	}
	n, err := survey.Survey{DB: db, Depth: -1, Sizes: true}.ReadShown(ctx, c, path...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, database.MissingDirectory(ctx, db, path)
	}
	if err != nil {
		return nil, err
	}
	return n, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		_, err := checkTree(ctx, tx, db, n)
		return err
	})
}

// remove removes the directories that were shown, and no others that another process has
// made or moved there since.
func remove(ctx context.Context, db *persistable.DB, n *survey.Node) error {
	err := db.RemoveDirectoryIf(ctx, func(tx kv.ReadTransaction, _ *directory.Directory) error {
		_, err := checkTree(ctx, tx, db, n)
		return err
	}, n.Path...)
	if errors.Is(err, directory.ErrNotFound) {
		return database.Missing(fmt.Errorf("another process has removed or moved %s since it was shown: nothing was changed", database.QuotePath(n.Path)))
	}
	return err
}

// checkTree returns the directories that are there now. It refuses directories that are not
// those that were shown, and locked tenants.
func checkTree(ctx context.Context, tx kv.ReadTransaction, db *persistable.DB, n *survey.Node) ([]*directory.Directory, error) {
	all, err := db.Layer().Subtree(ctx, tx, n.Path)
	if err == nil {
		err = n.CheckSubtree(all)
	}
	if err == nil {
		err = tenants.CheckUnlocked(ctx, tx, all...)
	}
	return all, err
}

// removal is a directory that was removed.
type removal struct {
	Path        string `json:"path"`
	Directories int    `json:"directories"`
	Stores      int    `json:"stores"`
	Bytes       int64  `json:"bytes"` // estimated
}

// Lines implements [shell.Result].
func (r removal) Lines() []string {
	return []string{fmt.Sprintf("removed %s: %s, about %s", shell.Argument(r.Path), survey.Plural(r.Directories, "directory", "directories"), shell.Size(r.Bytes))}
}
