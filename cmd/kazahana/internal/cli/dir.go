// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// dirCommand returns kazahana dir.
func dirCommand(c *shell.Console) *cobra.Command {
	return shell.Group("dir", "Show, move and remove directories", treeCommand(c), moveDirCommand(c), removeDirCommand(c))
}

func treeCommand(c *shell.Console) *cobra.Command {
	var s database.Survey
	cmd := &cobra.Command{
		Use: "tree [PATH]", Aliases: []string{"ls", "list"}, Short: "Show directories with their layers, types and sizes", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long: `Show the directory at a path, or all, with those below it: their layers in brackets, and the types that
are stored in them. With --sizes each has the size of its keys and values, with those of the directories
below it: counted if it is small, and estimated by the engine otherwise. Between 64 kB and 3 MB the estimate
may be far off.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana dir tree --db data\n  kazahana dir tree tenants --depth 1 --sizes --cluster-file fdb.cluster",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := database.ParsePath(cmd, strings.Join(args, ""))
			switch {
			case err != nil:
				return err
			case s.Depth < 0 || s.Width < 0:
				return shell.Misuse(cmd, errors.New("--depth and --width must not be negative"))
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				s := s
				s.DB = db
				if s.Depth == 0 {
					s.Depth = -1
				}
				root, err := s.Read(ctx, path...)
				if errors.Is(err, directory.ErrNotFound) {
					return database.MissingDirectory(ctx, db, path)
				}
				if root == nil || err != nil && !errors.Is(err, directory.ErrCorrupt) {
					return err
				}
				return errors.Join(writeTree(c, root, "", "", s.Sizes), err)
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&s.Depth, "depth", 0, "`number` of levels below the directory to show; 0: all")
	flags.IntVar(&s.Width, "width", 100, "`number` of subdirectories of each directory to show; 0: all")
	flags.BoolVar(&s.Sizes, "sizes", false, "estimate sizes, which visits each directory")
	return cmd
}

// writeTree writes a directory, and those below it.
func writeTree(c *shell.Console, n *database.Node, own, below string, sizes bool) error {
	line := newTreeLine(n, sizes)
	line.indent = own
	if err := c.Write(line); err != nil {
		return err
	}
	for i, child := range n.Children {
		own, next := below+"├─ ", below+"│  "
		if i == len(n.Children)-1 && !n.More {
			own, next = below+"└─ ", below+"   "
		}
		if err := writeTree(c, child, own, next, sizes); err != nil {
			return err
		}
	}
	if n.More && !c.JSON {
		return c.Write(moreLine{below + "└─ …"})
	}
	return nil
}

// treeLine is a directory in the tree.
type treeLine struct {
	Path  string   `json:"path"`
	Layer string   `json:"layer,omitempty"`
	Types []string `json:"types"`
	More  bool     `json:"more,omitempty"` // it has directories that are not listed
	Bytes *int64   `json:"bytes,omitempty"`

	name   string // the last element of the path
	indent string
}

func newTreeLine(n *database.Node, sizes bool) treeLine {
	line := treeLine{Path: database.FormatPath(n.Path), Layer: n.Layer, Types: n.Types(), More: n.More}
	if len(n.Path) > 0 {
		line.name = database.FormatElement(n.Path[len(n.Path)-1])
	}
	if sizes {
		line.Bytes = &n.Total.Bytes
	}
	return line
}

// Lines implements [shell.Result].
func (l treeLine) Lines() []string {
	text := l.Path
	if l.indent != "" {
		text = l.indent + l.name
	}
	if l.Layer != "" {
		text += " [" + shell.Word(l.Layer) + "]"
	}
	if len(l.Types) > 0 {
		text += "  " + strings.Join(l.Types, ", ")
	}
	if l.Bytes != nil {
		text += "  " + shell.Size(*l.Bytes)
	}
	return []string{text}
}

// moreLine stands for the directories that are not shown.
type moreLine struct{ text string }

// Lines implements [shell.Result].
func (l moreLine) Lines() []string { return []string{l.text} }

func moveDirCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "mv FROM TO", Short: "Give a directory another path", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Move a directory with all below it to another path. The parent of that path must exist. The move takes one transaction,
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
			var n *database.Node
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				n, err = checkMove(ctx, c, db, from, to)
				return err
			})
			if err != nil {
				return err
			}
			return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
				if err := moveDir(ctx, db, n, to); err != nil {
					return err
				}
				return c.Write(dirMoveResult{database.FormatPath(from), database.FormatPath(to)})
			})
		},
	}
}

// checkMove refuses a move that would break something. It returns what is to be moved.
func checkMove(ctx context.Context, c *shell.Console, db *persistable.DB, from, to []string) (*database.Node, error) {
	if err := checkSystem(db, from); err != nil {
		return nil, err
	}
	if err := checkSystem(db, to); err != nil {
		return nil, err
	}
	n, err := database.Survey{DB: db, Depth: -1}.ReadShown(ctx, c, from...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, database.MissingDirectory(ctx, db, from)
	}
	if err != nil {
		return nil, err
	}
	return n, checkStores(n, from, to)
}

// moveDir moves the directories that were examined, and no others that another process has
// made or moved there since.
func moveDir(ctx context.Context, db *persistable.DB, n *database.Node, to []string) error {
	err := db.MoveDirectory(ctx, n.Path, to, func(tx kv.ReadTransaction, _ *directory.Directory) error {
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
func checkStores(n *database.Node, from, to []string) error {
	for d := range n.All {
		if len(d.Headers) == 0 {
			continue
		}
		return storesError(d.Path, d.Types(), from, to)
	}
	return nil
}

func storesError(at, types, from, to []string) error {
	return shell.Invalid(fmt.Errorf("%s holds records of the type %s, and programs look for them there: they would not find them below %s; if %s is a tenant, use kazahana tenant move",
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

// dirMoveResult is a directory that was moved.
type dirMoveResult struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Lines implements [shell.Result].
func (m dirMoveResult) Lines() []string {
	return []string{fmt.Sprintf("moved %s to %s", shell.Argument(m.From), shell.Argument(m.To))}
}

func removeDirCommand(c *shell.Console) *cobra.Command {
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
			var n *database.Node
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				if n, err = examineDir(ctx, c, db, path); err != nil {
					return err
				}
				return c.Confirm(cmd, n.Describe(), "Remove "+database.QuotePath(path)+" with all that is in it?")
			})
			if err != nil {
				return err
			}
			return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
				if err := removeDir(ctx, db, n); err != nil {
					return err
				}
				return c.Write(dirRemoval{database.FormatPath(path), n.Total})
			})
		},
	}
	shell.AddYes(cmd)
	return cmd
}

// examineDir returns what is in a directory that may be removed.
func examineDir(ctx context.Context, c *shell.Console, db *persistable.DB, path []string) (*database.Node, error) {
	if err := checkSystem(db, path); err != nil {
		return nil, err
	}
	n, err := database.Survey{DB: db, Depth: -1, Sizes: true}.ReadShown(ctx, c, path...)
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

// removeDir removes the directories that were shown, and no others that another process has
// made or moved there since.
func removeDir(ctx context.Context, db *persistable.DB, n *database.Node) error {
	err := db.RemoveDirectoryIf(ctx, n.Path, func(tx kv.ReadTransaction, _ *directory.Directory) error {
		_, err := checkTree(ctx, tx, db, n)
		return err
	})
	if errors.Is(err, directory.ErrNotFound) {
		return database.Missing(fmt.Errorf("another process has removed or moved %s since it was shown: nothing was changed", database.QuotePath(n.Path)))
	}
	return err
}

// checkTree returns the directories that are there now. It refuses directories that are not
// those that were shown, and locked tenants.
func checkTree(ctx context.Context, tx kv.ReadTransaction, db *persistable.DB, n *database.Node) ([]*directory.Directory, error) {
	all, err := db.Layer().Subtree(ctx, tx, n.Path)
	if err == nil {
		err = n.CheckSubtree(all)
	}
	if err == nil {
		err = tenants.CheckUnlocked(ctx, tx, all...)
	}
	return all, err
}

// dirRemoval is a directory that was removed.
type dirRemoval struct {
	Path string `json:"path"`
	database.Total
}

// Lines implements [shell.Result].
func (r dirRemoval) Lines() []string {
	return []string{fmt.Sprintf("removed %s: %s, about %s", shell.Argument(r.Path), database.Plural(r.Directories, "directory", "directories"), shell.Size(r.Bytes))}
}
