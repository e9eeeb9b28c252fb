// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// statsCommand returns kazahana stats.
func statsCommand(c *shell.Console) *cobra.Command {
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

// engineNumbers is what an engine says of itself.
type engineNumbers struct {
	Kind    string            `json:"kind"` // embedded or foundationdb
	Version int64             `json:"version"`
	Metrics *embedded.Metrics `json:"metrics,omitempty"` // since the command opened it
	Status  json.RawMessage   `json:"status,omitempty"`  // the cluster's status json
}

// statusKey is where a cluster's client has its status.
const statusKey = "\xff\xff/status/json"

func readEngine(ctx context.Context, db kv.Database) (e engineNumbers, err error) {
	e.Kind = "foundationdb"
	if folder, ok := db.(*embedded.Database); ok {
		m := folder.Metrics()
		e.Kind, e.Metrics = "embedded", &m
	}
	err = db.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		if e.Version, err = tx.GetReadVersion().Get(ctx); err != nil || e.Metrics != nil {
			return err
		}
		if status, err := tx.Get([]byte(statusKey)).Get(ctx); err == nil && json.Valid(status) {
			e.Status = status
		} else if kv.IsRetryable(err) {
			return err
		}
		return nil // a cluster may refuse its status
	})
	return e, err
}

func (e engineNumbers) fields() []any {
	pairs := []any{"engine", e.Kind, "version", e.Version}
	if m := e.Metrics; m != nil {
		pairs = append(pairs,
			"log", fmt.Sprintf("%s in %d segments", shell.Size(m.LogBytes), m.LogSegments),
			"base", fmt.Sprintf("%s in %d tables", shell.Size(m.BaseBytes), m.BaseTables))
	}
	if e.Status != nil {
		pairs = append(pairs, e.statusFields()...)
	}
	return pairs
}

// statusFields returns the most important of a cluster's status.
func (e engineNumbers) statusFields() []any {
	var status struct {
		Cluster struct {
			FullReplication bool                  `json:"full_replication"`
			RecoveryState   struct{ Name string } `json:"recovery_state"`
			Data            struct {
				TotalKVSize int64 `json:"total_kv_size_bytes"`
				TotalDisk   int64 `json:"total_disk_used_bytes"`
			}
			Machines  map[string]json.RawMessage
			Processes map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(e.Status, &status); err != nil {
		return []any{"status", "not as expected: " + err.Error()}
	}
	cl := status.Cluster
	return []any{
		"cluster", fmt.Sprintf("%s, %d processes on %d machines", cl.RecoveryState.Name, len(cl.Processes), len(cl.Machines)),
		"replicated", cl.FullReplication,
		"data", fmt.Sprintf("%s of keys and values, %s on disk", shell.Size(cl.Data.TotalKVSize), shell.Size(cl.Data.TotalDisk)),
	}
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
