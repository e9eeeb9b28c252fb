// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/survey"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

// Command returns kazahana stats.
func Command(c *shell.Console) *cobra.Command {
	var largest int
	cmd := &cobra.Command{
		Use: "stats", Short: "Show the numbers of a database: engine, directories, types, sizes, leases", Args: shell.Arguments(cobra.NoArgs),
		Long: `Show the numbers of a database: of the engine, how many directories and stores of which types there are,
the largest directories by the estimated size of their own keys and values, and the leases on machine ids. On a
cluster, --json also has the answer of status json.
` + database.About,
		Example: "  kazahana stats --db data\n  kazahana stats --cluster-file fdb.cluster --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := shell.AtLeast(cmd, "largest", largest, 0); err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				s, err := read(ctx, c, db, largest)
				if err != nil && !errors.Is(err, directory.ErrCorrupt) {
					return err
				}
				return errors.Join(c.Write(s), err)
			})
		},
	}
	cmd.Flags().IntVar(&largest, "largest", 5, "`number` of directories to list, the largest first")
	return cmd
}

// numbers are those of a database.
type numbers struct {
	Engine      engine         `json:"engine"`
	Directories int            `json:"directories"`
	Stores      map[string]int `json:"stores"` // of each type: in how many directories
	Bytes       int64          `json:"bytes"`  // estimated, of keys and values in directories
	Largest     []size         `json:"largest"`
	Leases      leases         `json:"leases"`
}

// size is that of the keys and values of a directory, without those below it, unless it is
// a partition.
type size struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

func read(ctx context.Context, c *shell.Console, db *persistable.DB, largest int) (s numbers, err error) {
	if s.Engine, err = readEngine(ctx, db.Engine()); err != nil {
		return s, err
	}
	root, damage := survey.Survey{DB: db, Depth: -1, Sizes: true}.ReadShown(ctx, c)
	if damage != nil && (root == nil || !errors.Is(damage, directory.ErrCorrupt)) {
		return s, damage
	}
	s.Directories, s.Stores, s.Bytes, s.Largest = root.Total.Directories, map[string]int{}, root.Total.Bytes, []size{}
	for n := range root.All {
		for _, name := range n.Types() {
			s.Stores[name]++
		}
		if own := n.Own(); own > 0 {
			s.Largest = append(s.Largest, size{database.FormatPath(n.Path), own})
		}
	}
	slices.SortStableFunc(s.Largest, func(a, b size) int { return cmp.Compare(b.Bytes, a.Bytes) })
	s.Largest = s.Largest[:min(len(s.Largest), largest)]
	s.Leases, err = readLeases(ctx, db)
	return s, cmp.Or(err, damage)
}

// Lines implements [shell.Result].
func (s numbers) Lines() []string {
	pairs := s.Engine.fields()
	pairs = append(pairs, "directories", s.Directories, "stores", storesText(s.Stores), "size", "about "+shell.Size(s.Bytes))
	for i, d := range s.Largest {
		pairs = append(pairs, []string{"largest", ""}[min(i, 1)], fmt.Sprintf("%s  %s", d.Path, shell.Size(d.Bytes)))
	}
	return shell.Fields(append(pairs, "machine ids", s.Leases.text())...)
}

func storesText(stores map[string]int) string {
	if len(stores) == 0 {
		return "none"
	}
	var texts []string
	for name, n := range stores {
		texts = append(texts, fmt.Sprintf("%s in %s", name, survey.Plural(n, "directory", "directories")))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
