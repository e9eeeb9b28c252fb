// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// engineNumbers is what an engine says of itself.
type engineNumbers struct {
	Kind    string            `json:"kind"` // embedded or foundationdb
	Version int64             `json:"version"`
	Metrics *embedded.Metrics `json:"metrics,omitempty"` // since the command opened it
	Health  *cluster.Health   `json:"health,omitempty"`  // of the cluster
	Faults  []cluster.Fault   `json:"faults,omitempty"`  // of its health
	Unknown string            `json:"unknown,omitempty"` // why there is no health
	Status  json.RawMessage   `json:"status,omitempty"`  // the cluster's status json
}

func readEngine(ctx context.Context, db kv.Database) (e engineNumbers, err error) {
	if folder, ok := db.(*embedded.Database); ok {
		m := folder.Metrics()
		e.Metrics = &m
	}
	e.Kind = "embedded"
	if database.IsCluster(db) {
		e.Kind = "foundationdb"
		e.readCluster(ctx, db)
	}
	err = db.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		e.Version, err = tx.GetReadVersion().Get(ctx)
		return err
	})
	return e, err
}

// readCluster reads the status of a cluster, or notes that its client refuses it.
func (e *engineNumbers) readCluster(ctx context.Context, db kv.Database) {
	status, err := cluster.Read(ctx, db)
	if err != nil {
		e.Unknown = err.Error()
		return
	}
	e.Status, e.Health, e.Faults = status.Document, &status.Health, status.Health.Faults()
}

func (e engineNumbers) fields() []any {
	pairs := []any{"engine", e.Kind, "version", e.Version}
	if m := e.Metrics; m != nil {
		pairs = append(pairs,
			"log", fmt.Sprintf("%s in %d segments", shell.Size(m.LogBytes), m.LogSegments),
			"base", fmt.Sprintf("%s in %d tables", shell.Size(m.BaseBytes), m.BaseTables))
	}
	if e.Unknown != "" {
		pairs = append(pairs, "health", "unknown: "+e.Unknown)
	}
	if e.Health != nil {
		pairs = append(pairs, healthFields(e.Health)...)
	}
	for i, f := range e.Faults {
		pairs = append(pairs, []string{"faults", ""}[min(i, 1)], f.Code+": "+f.Reason)
	}
	return pairs
}

// healthFields returns the health of a cluster. What it does not tell is left out.
func healthFields(h *cluster.Health) (pairs []any) {
	for _, p := range [][2]string{
		{"cluster", clusterText(h)},
		{"replication", replicationText(h)},
		{"data", texts(", ", sizeText("%s of keys and values", h.Data.KeyValueBytes), sizeText("%s on disk", h.Data.DiskBytes), sizeText("%s to be moved", h.Data.MovingBytes))},
		{"free space", spaceText(h)},
		{"lag", texts(", ", secondsText("%.1f s until commits are applied", h.Lag.Data), secondsText("%.1f s until they are on disk", h.Lag.Durability))},
		{"limited by", limitText(h.LimitedBy)},
		{"throttled", throttledText(h.Throttled)},
		{"limited tags", tagsText(h)},
		{"clients", clientsText(h.Clients)},
		{"roles", rolesText(h.Processes)},
	} {
		if p[1] != "" {
			pairs = append(pairs, p[0], p[1])
		}
	}
	return pairs
}

// texts joins those that are not empty.
func texts(separator string, all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), separator)
}

func clusterText(h *cluster.Health) string {
	state := "available"
	if !h.Available {
		state = "not available"
	}
	return texts(", ", texts(": ", state, strings.TrimSuffix(h.Recovery, ".")),
		database.Plural(len(h.Processes), "process", "processes")+" on "+database.Plural(h.Machines, "machine", "machines"))
}

func replicationText(h *cluster.Health) string {
	return texts(", ", h.Redundancy, strings.ReplaceAll(cmp.Or(h.Data.Description, h.Data.State), "_", " "),
		zonesText(h.Tolerance.Data, "data"), zonesText(h.Tolerance.Availability, "availability"))
}

func zonesText(n *int, of string) string {
	if n == nil {
		return ""
	}
	return database.Plural(*n, "zone", "zones") + " may fail without loss of " + of
}

func spaceText(h *cluster.Health) string {
	text := texts(", ", sizeText("%s for storage", h.Space.StorageBytes), sizeText("%s for logs", h.Space.LogBytes))
	var fullest *cluster.Process
	for i, p := range h.Processes {
		if p.FreeShare != nil && (fullest == nil || *p.FreeShare < *fullest.FreeShare) {
			fullest = &h.Processes[i]
		}
	}
	if fullest != nil {
		text = texts(", ", text, fmt.Sprintf("%.0f %% at %s, the fullest process", *fullest.FreeShare*100, fullest.Address))
	}
	return text
}

func sizeText(format string, n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(format, shell.Size(*n))
}

func secondsText(format string, s *float64) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf(format, *s)
}

func limitText(l *cluster.Limit) string {
	if l == nil {
		return ""
	}
	return texts(": ", l.Name, strings.TrimSuffix(l.Description, "."))
}

func throttledText(t *cluster.Throttles) string {
	if t == nil {
		return ""
	}
	return database.Plural(t.Manual, "tag", "tags") + " by hand, " + database.Plural(t.Auto, "tag", "tags") + " by the cluster"
}

func tagsText(h *cluster.Health) string {
	if h.TagsUnknown != "" {
		return "unknown: " + h.TagsUnknown
	}
	var all []string
	for _, t := range h.Tags {
		all = append(all, t.String())
	}
	return strings.Join(all, ", ")
}

func clientsText(clients []cluster.Client) string {
	var all []string
	for _, c := range clients {
		all = append(all, fmt.Sprintf("%d of version %s", c.Count, c.Version))
	}
	return strings.Join(all, ", ")
}

// rolesText counts the processes of each role.
func rolesText(processes []cluster.Process) string {
	counts := map[string]int{}
	for _, p := range processes {
		for _, role := range p.Roles {
			counts[role]++
		}
	}
	var all []string
	for _, role := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[role], role))
	}
	return strings.Join(all, ", ")
}
