// SPDX-License-Identifier: Apache-2.0

package dirs

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/survey"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

func treeCommand(c *shell.Console) *cobra.Command {
	var s survey.Survey
	cmd := &cobra.Command{
		Use: "tree [PATH]", Aliases: []string{"ls", "list"}, Short: "Show directories with their layers, types and sizes", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long: `Show the directory at a path, or all, with those below it: their layers in brackets, and the types that
are stored in them. With --sizes each has the estimated size of its keys and values, with those of the
directories below it; the estimate of less than 3 MB may be off, and is often 0.
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
func writeTree(c *shell.Console, n *survey.Node, own, below string, sizes bool) error {
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

func newTreeLine(n *survey.Node, sizes bool) treeLine {
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
