// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"math"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// serviceTx is one transaction on the leases of a service. It collects its writes,
// which are handed to the store after the last read.
type serviceTx struct {
	server  *Server
	service string
	config  ServiceConfig
	store   Tx
	now     int64 // Unix milliseconds; set by load

	damage []error           // what of the queue and of the blocks cannot be read, and was passed over
	writes map[string][]byte // nil values delete
	order  []string          // the keys of writes in the order of their first write

	known    bool // the store has the record
	record   serviceRecord
	frontier *frontierRecord // as the store has it; nil until it is read
}

// set notes a write; the last one of a key counts. nil deletes.
func (tx *serviceTx) set(key, value []byte) {
	if _, again := tx.writes[string(key)]; !again {
		tx.order = append(tx.order, string(key))
	}
	tx.writes[string(key)] = value
}

func (tx *serviceTx) hasWrite(key []byte) bool {
	_, found := tx.writes[string(key)]
	return found
}

func (tx *serviceTx) flush() {
	for _, key := range tx.order {
		if value := tx.writes[key]; value != nil {
			tx.store.Set([]byte(key), value)
		} else {
			tx.store.Delete([]byte(key))
		}
	}
}

// decode reads a record, or returns false if there is none.
func (tx *serviceTx) decode(key, value []byte, record interface{ validate() error }) (bool, error) {
	if value == nil {
		return false, nil
	}
	return true, decode(tx.service, key, value, record)
}

// load reads the service's record and further keys, whose values it returns. It
// decides which time it is.
func (tx *serviceTx) load(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	values, err := tx.store.Get(ctx, append([][]byte{serviceKey()}, keys...)...)
	if err != nil {
		return nil, err
	}
	if tx.known, err = tx.decode(serviceKey(), values[0], &tx.record); err != nil {
		return nil, err
	}
	longest := max(tx.record.longestLease(), tx.duration())
	tx.now = tx.server.clock.resolveTime(tx.store.Now(), tx.config, tx.record.Latest, longest)
	return values[1:], nil
}

// readFrontier reads the frontier, once in a transaction. The caller does not
// change it.
func (tx *serviceTx) readFrontier(ctx context.Context) (*frontierRecord, error) {
	if tx.frontier != nil {
		return tx.frontier, nil
	}
	values, err := tx.store.Get(ctx, frontierKey())
	if err != nil {
		return nil, err
	}
	frontier := &frontierRecord{}
	if _, err := tx.decode(frontierKey(), values[0], frontier); err != nil {
		return nil, err
	}
	tx.frontier = frontier
	return frontier, nil
}

// duration returns the length of the leases that are granted, in milliseconds.
func (tx *serviceTx) duration() int64 { return tx.config.Duration.Milliseconds() }

// earliestStart returns when a lease can begin at the earliest.
func (tx *serviceTx) earliestStart() int64 { return max(tx.now, tx.record.Floor) }

// checkClock refuses a time that the layout cannot express.
func (tx *serviceTx) checkClock() error {
	layout := tx.config.Layout
	if now := time.UnixMilli(tx.now); now.Before(layout.First()) || now.After(layout.Last()) {
		return &idgen.TimeRangeError{Time: now, First: layout.First(), Last: layout.Last()}
	}
	return nil
}

// windows returns the windows to search, in the order of preference.
func (tx *serviceTx) windows() []window {
	if tx.config.Plain {
		return []window{{until: tx.now + 1, latestStart: tx.now}}
	}
	soon := tx.now + lead
	// A lease and its continuation end before the lease that lies ahead begins,
	// which is before the time that the queue has of that block.
	rewindFrom := tx.now + 2*tx.duration()
	return []window{
		{until: tx.now + 1, latestStart: tx.now},
		{until: soon + 1, latestStart: soon},
		{from: rewindFrom, until: math.MaxInt64, latestStart: soon, rewind: true},
	}
}
