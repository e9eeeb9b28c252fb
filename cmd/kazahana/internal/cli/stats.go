// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// statsCommand returns kazahana stats.
func statsCommand(c *shell.Console) *cobra.Command {
	var largest int
	cmd := &cobra.Command{
		Use: "stats", Short: "Show the numbers of a database: engine, directories, types, sizes, leases", Args: shell.Arguments(cobra.NoArgs),
		Long: `Show the numbers of a database: of the engine, how many directories and stores of which types there are, the
largest directories by the estimated size of their own keys and values, and the leases on machine ids. Of a
cluster it shows the health: whether it is available, how many copies there are of data and which failures it
survives, free space, lag of storage servers, what limits performance, limited tags, versions of clients,
roles of processes, messages. With --json there are all processes, and the answer of status json.
` + database.About,
		Example: "  kazahana stats --db data\n  kazahana stats --cluster-file fdb.cluster --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := shell.AtLeast(cmd, "largest", largest, 0); err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				s, err := readNumbers(ctx, c, db, largest)
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

// databaseNumbers are those of a database.
type databaseNumbers struct {
	Engine      engineNumbers   `json:"engine"`
	Directories int             `json:"directories"`
	Stores      map[string]int  `json:"stores"` // of each type: in how many directories
	Bytes       int64           `json:"bytes"`  // estimated, of keys and values in directories
	Largest     []directorySize `json:"largest"`
	Leases      leaseNumbers    `json:"leases"`
}

// directorySize is that of the keys and values of a directory, without those below it, unless it is
// a partition.
type directorySize struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

func readNumbers(ctx context.Context, c *shell.Console, db *persistable.DB, largest int) (s databaseNumbers, err error) {
	if s.Engine, err = readEngine(ctx, db.Engine()); err != nil {
		return s, err
	}
	root, damage := database.Survey{DB: db, Depth: -1, Sizes: true}.ReadShown(ctx, c)
	if damage != nil && (root == nil || !errors.Is(damage, directory.ErrCorrupt)) {
		return s, damage
	}
	s.Directories, s.Stores, s.Bytes, s.Largest = root.Total.Directories, map[string]int{}, root.Total.Bytes, []directorySize{}
	for n := range root.All {
		for _, name := range n.Types() {
			s.Stores[name]++
		}
		if own := n.Own(); own > 0 {
			s.Largest = append(s.Largest, directorySize{database.FormatPath(n.Path), own})
		}
	}
	slices.SortStableFunc(s.Largest, func(a, b directorySize) int { return cmp.Compare(b.Bytes, a.Bytes) })
	s.Largest = s.Largest[:min(len(s.Largest), largest)]
	s.Leases, err = readLeases(ctx, db)
	return s, cmp.Or(err, damage)
}

// Lines implements [shell.Result].
func (s databaseNumbers) Lines() []string {
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
		texts = append(texts, fmt.Sprintf("%s in %s", name, database.Plural(n, "directory", "directories")))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// leaseNumbers are those on machine ids.
type leaseNumbers struct {
	Services int `json:"services"`
	Active   int `json:"active"`
	Ended    int `json:"ended"` // their positions are not free yet

	Incomplete bool `json:"incomplete,omitempty"` // others cannot be read
}

// leasesPath is where a persistable.DB has its leases.
var leasesPath = []string{"kazahana", "leases"}

func readLeases(ctx context.Context, db *persistable.DB) (l leaseNumbers, err error) {
	// a provider creates its directory
	if exists, err := db.Layer().Exists(ctx, db.Engine(), leasesPath); err != nil || !exists {
		return l, err
	}
	provider, err := leasefdb.New(db.Engine(), leasefdb.Options{Layer: db.Layer(), Path: leasesPath})
	if err != nil {
		return l, err
	}
	services, err := provider.Services(ctx, "", 1000)
	if err != nil {
		return l, err
	}
	l.Services = len(services)
	for _, service := range services {
		if err := l.count(ctx, provider, service); err != nil {
			return l, err
		}
	}
	return l, nil
}

// count adds the leases of a service.
func (l *leaseNumbers) count(ctx context.Context, provider *leasefdb.Provider, service string) error {
	for o := (lease.ListOptions{Ended: true}); ; {
		page, err := provider.List(ctx, service, o)
		if err != nil && !lease.IsUnreadable(err) {
			return err
		}
		l.Incomplete = l.Incomplete || err != nil // of some blocks, or of the whole service
		for _, info := range page.Leases {
			if info.Active {
				l.Active++
			} else {
				l.Ended++
			}
		}
		if page.Next == "" {
			return nil
		}
		o.After = page.Next
	}
}

func (l leaseNumbers) text() string {
	if l.Services == 0 {
		return "never leased"
	}
	text := fmt.Sprintf("%d leased, %d ended", l.Active, l.Ended)
	if l.Incomplete {
		text += "; others cannot be read: see kazahana doctor"
	}
	return text
}
