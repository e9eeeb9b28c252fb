// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// engine is what an engine says of itself.
type engine struct {
	Kind    string            `json:"kind"` // embedded or foundationdb
	Version int64             `json:"version"`
	Metrics *embedded.Metrics `json:"metrics,omitempty"` // since the command opened it
	Status  json.RawMessage   `json:"status,omitempty"`  // the cluster's status json
}

// statusKey is where a cluster's client has its status.
const statusKey = "\xff\xff/status/json"

func readEngine(ctx context.Context, db kv.Database) (e engine, err error) {
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

func (e engine) fields() []any {
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
func (e engine) statusFields() []any {
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
