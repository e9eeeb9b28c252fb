// SPDX-License-Identifier: Apache-2.0

// Package stored reads what persistable stores key by key, without a store, for tools that
// examine a database: the headers of stores and of records, the work lists of index builds,
// the settings of tenants. docs/layout.md has the keys:
//
//	h, err := stored.DecodeHeader(value) // of the key ("S", type)
//	if err != nil {
//		return err // says what is wrong, and what to do
//	}
//	for _, ix := range h.Indexes {
//		fmt.Println(ix.KeyName, ix.Layout, ix.State)
//	}
//
// # Concurrency and transactions
//
// All functions may be called concurrently. They read no database.
package stored

import (
	"time"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// Error says why stored bytes cannot be used, and what to do.
type Error = format.Error

// Header is what a store's header says.
type Header struct {
	Schema  string  // the text of the schema; see docs/layout.md
	Indexes []Index // in the order of their names, recounts included
}

// Index is an index in the header of a store.
type Index struct {
	KeyName string // the name in keys
	Layout  string
	State   index.State
}

// DecodeHeader reads the value of the key ("S", type). It returns an *[Error] if the value
// is damaged or of a newer format.
func DecodeHeader(value []byte) (h Header, err error) {
	c, err := format.DecodeCatalog(value)
	if err != nil {
		return h, err
	}
	h.Schema = c.Schema().Text()
	for _, ix := range c.All() {
		h.Indexes = append(h.Indexes, Index(ix))
	}
	return h, nil
}

// DecodeFormer reads the value of the key ("S", type, "history", versionstamp): a header,
// and until when it was that of the store. It returns an *[Error] as [DecodeHeader] does.
func DecodeFormer(value []byte) (until time.Time, err error) {
	f, err := format.DecodeFormer(value)
	return f.Until, err
}

// ChunkSize is the size in bytes of the first value of a record with chunks, and of all
// its chunks but the last one.
const ChunkSize = kv.MaxValueSize

// DecodeRecord reads the value under a record's key: how many chunks are after it, and the
// bytes of the record, or the first part of them. It returns an *[Error] if the header is
// damaged or of a newer format.
func DecodeRecord(value []byte) (chunks int, payload []byte, err error) {
	r, err := format.ParseRecord(value)
	return r.Chunks, r.Payload, err
}

// TenantOwner is the owner of the annotations of tenants.
const TenantOwner = tenancy.Owner

// Tenant is what the annotation "settings" of a directory says.
type Tenant struct {
	Locked         bool
	Reason         string // of the lock
	Records, Bytes int64  // the most that the tenant may have; 0: no bound
	Quota          bool   // usage is counted
	Counting       bool   // the records that were there before the quota are not all counted yet
}

// DecodeTenant reads the value of the annotation "settings"; nil is the zero value.
func DecodeTenant(value []byte) (Tenant, error) {
	s, err := tenancy.Decode(value)
	return Tenant{
		Locked: s.Lock.ID != "", Reason: s.Lock.Reason, Records: s.Quota.Records, Bytes: s.Quota.Bytes,
		Quota: s.Quota.State != tenancy.Off, Counting: s.Quota.State == tenancy.Counting,
	}, err
}

// WorkRange is a range of the work list of an index build.
type WorkRange struct {
	Worker []byte // that has claimed it; empty: none
	Beats  int64  // grows with each change
	Done   bool   // nothing is left of it
}

// DecodeWorkList reads the value of the key ("S", type, "build"): the names in keys of the
// indexes that are built.
func DecodeWorkList(value []byte) (keyNames []string, err error) {
	members, err := build.DecodeMembers(value)
	for _, m := range members {
		keyNames = append(keyNames, m.KeyName)
	}
	return keyNames, err
}

// DecodeWorkRange reads the value of the key ("S", type, "build", "range", begin…); begin
// are the bytes after "range".
func DecodeWorkRange(begin, value []byte) (WorkRange, error) {
	r, err := build.DecodeRange(begin, value)
	if err != nil {
		return WorkRange{}, err
	}
	return WorkRange{Worker: r.Worker, Beats: r.Beats, Done: r.IsDone()}, nil
}
