// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/kazahana-db/kazahana/internal/refusal"
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

// load reads the service's record and further keys, and returns the values of these.
// It decides which time it is.
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
	_, err := tx.config.Layout.At(time.UnixMilli(tx.now))
	return err
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

// isReady reports whether the store has all that granting leases needs. The
// default service is created with its first lease.
func (tx *serviceTx) isReady() bool {
	return tx.service == DefaultService || tx.known && !tx.record.Unsettled && !tx.record.Removing
}

// openService checks the record that load has read, makes one if there is none,
// and returns the end of the quarantine, which may begin here.
func (tx *serviceTx) openService() (quarantine int64, err error) {
	if tx.known {
		if err := tx.checkFrame(); err != nil {
			return 0, err
		}
	}
	store := tx.store.Incarnation()
	seen := tx.server.lastSeen(tx.service)
	lost := false
	switch {
	case !tx.known:
		tx.record = newServiceRecord(tx.config)
		tx.record.Unsettled = tx.service != DefaultService
		lost = !tx.server.options.Fresh || seen.Incarnation != ""
	case store != "" && store != tx.record.Store,
		seen.Incarnation != "" && seen.Incarnation != tx.record.Incarnation && seen.Incarnation != tx.record.After:
		lost = true
	default:
		return tx.quarantineEnd(), nil
	}
	tx.record.Store = store
	tx.record.inheritLengths(seen.times)
	if lost {
		tx.beginQuarantine(tx.server.options.Quarantine)
	}
	tx.saveRecord()
	return tx.quarantineEnd(), nil
}

// saveRecord notes that the service's record is to be written.
func (tx *serviceTx) saveRecord() { tx.set(serviceKey(), encode(serviceKey(), tx.record)) }

// noteGrant notes that leases were granted; see [times].
func (tx *serviceTx) noteGrant() {
	if tx.record.noteGrant(tx.server.id, tx.now, tx.duration()) {
		tx.saveRecord()
	}
}

// checkFrame compares what is stored of the layout with what is configured.
func (tx *serviceTx) checkFrame() error {
	if tx.record.frame() != frameOf(tx.config.Layout) {
		return tx.customEpochError(tx.record.frame())
	}
	return nil
}

// customEpochError says that the configured layout contradicts the stored frame.
func (tx *serviceTx) customEpochError(stored frame) error {
	return &refusal.EpochMismatchError{ServiceID: tx.service, Want: refusal.Layout(tx.config.Layout), Got: refusal.Layout(stored.of(tx.config.Layout))}
}

// finishCreation makes a new service ready to grant leases: gone is what is left
// of services that were removed.
func (tx *serviceTx) finishCreation(gone goneRecord) error {
	_, listed := tx.server.options.Services[tx.service]
	if !listed && gone.Frame != nil && *gone.Frame != tx.record.frame() {
		return tx.customEpochError(*gone.Frame)
	}
	tx.record.Unsettled, tx.record.Floor, tx.record.After = false, gone.Floor, gone.incarnationOf(tx.service)
	if seen := tx.server.lastSeen(tx.service).Incarnation; seen != "" && seen == tx.record.After && tx.server.options.Fresh {
		tx.record.Quarantine, tx.record.Continued = 0, 0 // its leases were removed, not lost
	}
	tx.saveRecord()
	return nil
}

var errKeyLength = errors.New("the key is not one of this package")

// storedBlock is a block as it was read.
type storedBlock struct {
	*block       // nil: there is none, or it cannot be read
	damage error // why it cannot be read
}

// getBlocks reads blocks serializably.
func (tx *serviceTx) getBlocks(ctx context.Context, keys [][]byte) ([]storedBlock, error) {
	values, err := tx.store.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	blocks := make([]storedBlock, len(keys))
	for i, value := range values {
		if value != nil {
			blocks[i].block, blocks[i].damage = tx.decodeBlock(keys[i], value)
		}
	}
	return blocks, nil
}

// decodeBlocks decodes the blocks of a scan.
func (tx *serviceTx) decodeBlocks(pairs []Pair) ([]block, error) {
	blocks := make([]block, len(pairs))
	for i, pair := range pairs {
		b, err := tx.decodeBlock(pair.Key, pair.Value)
		if err != nil {
			return nil, err
		}
		blocks[i] = *b
	}
	return blocks, nil
}

func (tx *serviceTx) decodeBlock(key, value []byte) (*block, error) {
	corrupt := func(err error) error { return &refusal.CorruptError{ServiceID: tx.service, Key: key, Cause: err} }
	base, ok := blockBase(key)
	if !ok {
		return nil, corrupt(errKeyLength)
	}
	b := &block{base: base}
	if err := decode(tx.service, key, value, b); err != nil {
		return nil, err
	}
	if b.base%b.size() != 0 || b.base+b.size() > 1<<tx.config.spaceBits() {
		return nil, corrupt(fmt.Errorf("2^%d positions do not begin there", b.SequenceBits))
	}
	return b, nil
}

// putBlock writes a block and its entry in the queue.
func (tx *serviceTx) putBlock(b *block) {
	tx.set(blockKey(b.base), encode(blockKey(b.base), b))
	tx.set(freeKey(b.SequenceBits, b.NotBefore, b.base), []byte{recordFormat})
}

// deleteBlock removes a block and its entry in the queue.
func (tx *serviceTx) deleteBlock(b *block) {
	tx.set(blockKey(b.base), nil)
	tx.set(freeKey(b.SequenceBits, b.NotBefore, b.base), nil)
}

// listBlocks fills the page with the leases of the blocks that can be read. damage says which
// cannot.
func (tx *serviceTx) listBlocks(page *Page, pairs []Pair, limit int, ended bool) (damage error) {
	var faults []error
	defer func() { damage = errors.Join(faults...) }()
	for _, pair := range pairs {
		page.Next = fmt.Sprintf("%08x", nearestBase(pair.Key))
		b, err := tx.decodeBlock(pair.Key, pair.Value)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if b.Holder == nil {
			continue
		}
		if info := newInfo(b, tx.now); info.Active || ended {
			page.Leases = append(page.Leases, info)
		}
		if len(page.Leases) == limit {
			return nil
		}
	}
	if len(pairs) < maxPage {
		page.Next = ""
	}
	return nil
}

// nearestBase returns the base in the key of a block. For a key that is not a block's it returns
// a base from which a listing continues after that key.
func nearestBase(key []byte) uint32 {
	var base [4]byte
	copy(base[:], key[1:])
	return binary.BigEndian.Uint32(base[:])
}

// beginQuarantine grants nothing for d, or, if d is 0, until all leases that may be
// in force have ended. These may be continued for as long
// again; leases that are granted after the quarantine end later than that. Leases
// of a plain service are not continued.
func (tx *serviceTx) beginQuarantine(d time.Duration) {
	r := &tx.record
	if d > 0 {
		r.Quarantine = max(r.Quarantine, tx.now+d.Milliseconds())
		return
	}
	longest := max(r.longestLease(), tx.duration())
	start := tx.now + DefaultSkew.Milliseconds()
	r.Quarantine = max(r.Quarantine, start+longest)
	if !tx.config.Plain {
		r.Continued = max(r.Continued, start+2*longest)
	}
}

// quarantineEnd returns when leases of the configured length can be granted.
func (tx *serviceTx) quarantineEnd() int64 {
	return max(tx.record.Quarantine, tx.record.Continued-tx.duration())
}

// removePerCall is how many keys one transaction removes.
const removePerCall = 500

// removeKeys does one step of a removal, and reports whether it was the last one.
func (tx *serviceTx) removeKeys(ctx context.Context, incarnation string, end int64) (done bool, err error) {
	if _, err := tx.load(ctx); err != nil {
		return false, err
	}
	r := &tx.record
	if !tx.known || r.Incarnation != incarnation || r.lastEnd() > end {
		return true, nil // another server removed it, or leases from it again
	}
	if !r.Removing {
		r.Removing = true
		tx.saveRecord()
		return false, nil
	}
	pairs, err := tx.store.Scan(ctx, []byte{0}, []byte{0xff}, removePerCall)
	if err != nil {
		return false, err
	}
	for _, pair := range pairs {
		if pair.Key[0] != keyService || len(pairs) == 1 {
			tx.set(pair.Key, nil)
		}
	}
	return len(pairs) <= 1, nil
}
