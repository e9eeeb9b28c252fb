// SPDX-License-Identifier: Apache-2.0

// Package cluster reads what a FoundationDB cluster says of its health, and judges what of it
// endangers data:
//
//	status, err := cluster.Read(ctx, db)
//	if err != nil {
//		return err // the engine is not on a cluster, or the client refuses the key
//	}
//	for _, f := range status.Health.Faults() {
//		fmt.Println(f.Code, f.Reason)
//	}
//
// The status comes from the client, also while the cluster is not available.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
)

// statusKey is where a cluster's client has its status.
const statusKey = "\xff\xff/status/json"

// Status is a cluster's status, as it is and as this package reads it.
type Status struct {
	Document json.RawMessage
	Health   Health
}

// Read reads the status of the cluster of a client and, from a cluster that is available, which
// tags are limited.
func Read(ctx context.Context, db kv.Database) (s Status, err error) {
	err = db.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		s.Document, err = tx.Get([]byte(statusKey)).Get(ctx)
		return err
	})
	if err != nil {
		return Status{}, fmt.Errorf("cluster: read the status: %w", err)
	}
	if s.Health, err = parse(s.Document); err != nil || !s.Health.Available {
		return s, err
	}
	if s.Health.Tags, err = readTags(ctx, db); err != nil {
		s.Health.TagsUnknown = err.Error()
	}
	return s, nil
}

// Health is the part of a status that tells how a cluster is. What the cluster does not tell is
// nil or empty.
type Health struct {
	Available    bool          `json:"available"` // transactions can run
	Recovery     string        `json:"recovery"`  // state of the transaction system
	Recovered    *float64      `json:"recoveredSeconds,omitempty"`
	Redundancy   string        `json:"redundancy"` // single, double, triple, …
	Tolerance    Tolerance     `json:"tolerance"`
	Data         Data          `json:"data"`
	Space        Space         `json:"space"`
	Lag          Lag           `json:"lag"`
	LimitedBy    *Limit        `json:"limitedBy,omitempty"`
	Throttled    *Throttles    `json:"throttledTags,omitempty"`
	Tags         []Tag         `json:"tags,omitempty"`        // that are limited, by name
	TagsUnknown  string        `json:"tagsUnknown,omitempty"` // why it is not known which
	Machines     int           `json:"machines"`
	Clients      []Client      `json:"clients"`
	Processes    []Process     `json:"processes"` // in the order of their addresses
	Coordinators []Coordinator `json:"coordinators"`
	Messages     []Message     `json:"messages"`
}

// Tolerance is how many zones may fail before data, or the availability of the cluster, is lost.
type Tolerance struct {
	Data         *int `json:"data,omitempty"`
	Availability *int `json:"availability,omitempty"`
}

// Data tells whether all data has its copies.
type Data struct {
	State         string `json:"state"` // as the status names it
	Description   string `json:"description,omitempty"`
	Healthy       *bool  `json:"healthy,omitempty"`
	Replicas      *int   `json:"replicas,omitempty"` // of the data that has the fewest
	MovingBytes   *int64 `json:"movingBytes,omitempty"`
	KeyValueBytes *int64 `json:"keyValueBytes,omitempty"`
	DiskBytes     *int64 `json:"diskBytes,omitempty"`
}

// Space is what is free on the fullest server, less what the cluster does not use.
type Space struct {
	StorageBytes *int64 `json:"storageBytes,omitempty"`
	LogBytes     *int64 `json:"logBytes,omitempty"`
}

// Lag is how far the last storage server is behind, in seconds.
type Lag struct {
	Data       *float64 `json:"dataSeconds,omitempty"`       // in applying commits
	Durability *float64 `json:"durabilitySeconds,omitempty"` // in writing them to disk: 5 s are usual
}

// Limit is what limits the rate of transactions.
type Limit struct {
	Name        string `json:"name"` // workload: nothing but the clients
	Description string `json:"description"`
}

// Throttles is how many tags of transactions are throttled.
type Throttles struct {
	Manual int `json:"manual"`
	Auto   int `json:"auto"`
}

// Client is how many clients of a version are connected.
type Client struct {
	Version string `json:"version"`
	Count   int    `json:"count"`
}

// Process is a server process.
type Process struct {
	Address       string   `json:"address"`
	Version       string   `json:"version"`
	Roles         []string `json:"roles"`               // each once
	FreeShare     *float64 `json:"freeShare,omitempty"` // of its disk or, if that is less, of a role's store
	DataLag       *float64 `json:"dataLagSeconds,omitempty"`
	DurabilityLag *float64 `json:"durabilityLagSeconds,omitempty"`
}

// Coordinator is a coordination server.
type Coordinator struct {
	Address   string `json:"address"`
	Reachable *bool  `json:"reachable,omitempty"`
}

// Message is a message of a process, or of the cluster as a whole.
type Message struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Process     string `json:"process,omitempty"` // its address
}

// String describes the message.
func (m Message) String() string {
	text := strings.TrimSuffix(cmp.Or(m.Description, m.Name), ".")
	if m.Process != "" {
		text = m.Process + ": " + text
	}
	if m.Description != "" && m.Name != "" {
		text += " (" + m.Name + ")"
	}
	return text
}
