// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/refusal"
)

// Examination is what [Examine] has found.
type Examination struct {
	Faults []Fault
	Pairs  int
	Next   []byte // the last key that was checked: the next call goes on after it; nil if the map has no more

	// What the service's record says; the zero value if it cannot be read, or if there
	// is none.
	Known              bool      // there is a record
	Settled            bool      // the service is not being made or removed
	Latest, Claim      time.Time // the highest time of a grant that is believed; one far ahead that is not yet
	Quarantine, Floor  time.Time // nothing is granted before
	Ending, Held, Free int       // blocks: held by leases that end soon; held by others; free
}

// What [Fault.Kind] says is wrong with a key of a service's map.
const (
	FaultRecord   = "record"   // the key or its value is not what this package writes
	FaultNewer    = "newer"    // a newer version of this library wrote the value: see [ErrNewer]
	FaultPlace    = "place"    // a block that does not lie in the space of the service, or not aligned
	FaultOverlap  = "overlap"  // two blocks have the same positions
	FaultGap      = "gap"      // positions below the frontier are in no block: they are never granted
	FaultFrontier = "frontier" // a block lies past the frontier: its positions are granted twice
	FaultQueue    = "queue"    // a block without its entry in the queue, or an entry without its block
	FaultRequest  = "request"  // a request record without the entry by which it is forgotten
	FaultCharge   = "charge"   // a lease that the account does not count in which it counts
)

// Fault is a key of a service's map that is not as it should be, as [Examine] found.
type Fault struct {
	Kind   string // one of FaultRecord, FaultNewer and so on
	Key    []byte // in the map
	Reason string
}

// String describes the fault.
func (f Fault) String() string { return fmt.Sprintf("%s %q: %s", f.Kind, f.Key, f.Reason) }

// ExamineOptions say what [Examine] checks.
type ExamineOptions struct {
	Service string
	After   []byte        // the key after which it begins: [Examination.Next] of the call before; nil: before all keys
	Limit   int           // most pairs that it checks; less than 2 is 2
	Now     time.Time     // tells which leases have ended
	Soon    time.Duration // a lease that is not released, and ends so soon after Now, counts as Ending
}

// Examine checks the pairs of a service's map, and what they refer to: each value, that blocks
// cover the positions below the frontier without overlap and lie in the queue, and that requests
// and accounts agree with them. All reads of reader must be of one version: then no
// concurrent change makes a fault.
//
// Cost: three rounds of reads.
func Examine(ctx context.Context, reader Reader, options ExamineOptions) (Examination, error) {
	x := examiner{service: options.Service, reader: reader, now: options.Now.UnixMilli(), soon: options.Soon.Milliseconds()}
	err := x.run(ctx, options.After, max(options.Limit, 2))
	return x.Examination, err
}

// examiner checks one batch of a service's map.
type examiner struct {
	Examination
	service   string
	reader    Reader
	now, soon int64
	stored    bool // the service has a record, damaged or not
	record    serviceRecord
	frontier  frontierRecord
	bounded   bool   // the frontier is known
	before    []byte // the key before the one that is being checked
	wants     []want
}

// run checks one batch.
func (x *examiner) run(ctx context.Context, after []byte, limit int) error {
	if err := x.readService(ctx); err != nil {
		return err
	}
	begin := []byte{0}
	if after != nil {
		begin = append(append([]byte(nil), after...), 0)
	}
	pairs, err := x.reader.Scan(ctx, begin, []byte{0xff}, limit+1)
	if err != nil {
		return err
	}
	x.before, x.Pairs = after, min(len(pairs), limit)
	if x.Pairs < len(pairs) {
		x.Next = pairs[limit-1].Key
	}
	if !x.stored && after == nil && len(pairs) > 0 && pairs[0].Key[0] != keyGone {
		x.addFault(FaultRecord, serviceKey(), "the record of the service is missing, and others are there: the next lease puts the service into quarantine")
	}
	for i, pair := range pairs[:x.Pairs] {
		var next *Pair
		if i+1 < len(pairs) {
			next = &pairs[i+1]
		}
		x.examine(pair, next)
	}
	return x.compare(ctx)
}

// readService reads the record of the service and its frontier.
func (x *examiner) readService(ctx context.Context) error {
	values, err := x.reader.Get(ctx, serviceKey(), frontierKey())
	if err != nil {
		return err
	}
	x.stored = values[0] != nil
	x.Known = x.stored && decode(x.service, serviceKey(), values[0], &x.record) == nil
	x.bounded = values[1] == nil || decode(x.service, frontierKey(), values[1], &x.frontier) == nil
	if !x.Known {
		return nil
	}
	x.Settled = !x.record.Unsettled && !x.record.Removing
	x.Latest, x.Quarantine, x.Floor = timeAt(x.record.Latest), timeAt(x.record.Quarantine), timeAt(x.record.Floor)
	if x.record.Claim != nil {
		x.Claim = timeAt(x.record.Claim.At)
	}
	return nil
}

// timeAt returns a time of a record; the zero time for none.
func timeAt(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// want is a key that another one needs, and the check of its value, which returns what is
// wrong with it, or "".
type want struct {
	kind  string
	by    []byte // the key at fault if the check fails
	key   []byte
	check func(value []byte) string
}

func (x *examiner) addFault(kind string, key []byte, format string, args ...any) {
	x.Faults = append(x.Faults, Fault{kind, bytes.Clone(key), fmt.Sprintf(format, args...)})
}

// examine checks a pair, and notes what it refers to. next is the pair after it; nil
// after the last one.
func (x *examiner) examine(pair Pair, next *Pair) {
	var err error
	switch pair.Key[0] {
	case keyService:
		err = x.decodeExact(pair, serviceKey(), &serviceRecord{})
	case keyGone:
		err = x.decodeExact(pair, goneKey(), &goneRecord{})
	case keyFrontier:
		x.checkFirst(pair.Key, x.before, x.frontier.Next)
		err = x.decodeExact(pair, frontierKey(), &frontierRecord{})
	case keyAccount:
		err = x.decodeHashed(pair, &accountRecord{})
	case keyBlock:
		err = x.examineBlock(pair, next)
	case keyFree:
		err = x.examineFree(pair)
	case keyRequest:
		err = x.examineRequest(pair)
	case keyForget:
		err = x.examineForget(pair)
	default:
		err = errKeyLength
	}
	switch {
	case errors.Is(err, ErrNewer):
		x.addFault(FaultNewer, pair.Key, "%v", causeOf(err))
	case err != nil:
		x.addFault(FaultRecord, pair.Key, "%v", causeOf(err))
	}
	x.before = pair.Key
}

// causeOf returns what a corrupt record's error says besides the key.
func causeOf(err error) error {
	var corrupt *refusal.CorruptError
	var unknown *newer.Error
	switch {
	case errors.As(err, &corrupt):
		return corrupt.Cause
	case errors.As(err, &unknown):
		return unknown
	}
	return err
}

func (x *examiner) decodeExact(pair Pair, key []byte, record interface{ validate() error }) error {
	if !bytes.Equal(pair.Key, key) {
		return errKeyLength
	}
	return decode(x.service, pair.Key, pair.Value, record)
}

func (x *examiner) decodeHashed(pair Pair, record interface{ validate() error }) error {
	if len(pair.Key) != 1+16 {
		return errKeyLength
	}
	return decode(x.service, pair.Key, pair.Value, record)
}

// examineFree checks an entry of the queue.
func (x *examiner) examineFree(pair Pair) error {
	e, ok := parseFreeKey(pair.Key)
	if !ok || !bytes.Equal(pair.Key, freeKey(e.bitSeq, e.at, e.base)) {
		return errKeyLength
	}
	x.want(FaultQueue, pair.Key, blockKey(e.base), func(value []byte) string {
		if value == nil {
			return fmt.Sprintf("there is no block at %d: the entry is passed over, and a search reads it each time", e.base)
		}
		b := block{base: e.base}
		if decode(x.service, blockKey(e.base), value, &b) == nil && !e.matches(&b) {
			return fmt.Sprintf("the block at %d has 2^%d positions and is free from %d on, the entry says 2^%d from %d on", e.base, b.SequenceBits, b.NotBefore, e.bitSeq, e.at)
		}
		return ""
	})
	return checkMark(pair.Value)
}

// checkMark checks the value of a key that says everything.
func checkMark(value []byte) error {
	if !bytes.Equal(value, []byte{recordFormat}) {
		return fmt.Errorf("its value is %q, it should be %q", value, recordFormat)
	}
	return nil
}

// examineRequest checks what was granted for a request key.
func (x *examiner) examineRequest(pair Pair) error {
	var r requestRecord
	if err := x.decodeHashed(pair, &r); err != nil {
		return err
	}
	x.want(FaultRequest, pair.Key, forgetKey(r.Until, pair.Key[1:]), func(value []byte) string {
		if value == nil {
			return fmt.Sprintf("it has no entry by which it is forgotten after %d: it stays for ever", r.Until)
		}
		return ""
	})
	return nil
}

// examineForget checks the entry by which a request is forgotten. The request need not be
// there: a call that forgets old requests reads the entries as a snapshot, and may remove a
// request that another call has granted anew since then. The entry goes when it is due.
func (x *examiner) examineForget(pair Pair) error {
	if _, ok := forgetHash(pair.Key); !ok {
		return errKeyLength
	}
	return checkMark(pair.Value)
}

// checkCharge notes that the account of a lease must count it.
func (x *examiner) checkCharge(b *block, key []byte) {
	h := b.Holder
	if h == nil || h.Charge == nil || h.Released != nil || h.Charge.Until <= x.now {
		return
	}
	hash, err := hex.DecodeString(h.Charge.Account)
	if err != nil || len(hash) != 16 {
		x.addFault(FaultRecord, key, "its account %q is not a hash", h.Charge.Account)
		return
	}
	x.want(FaultCharge, key, accountKey(hash), func(value []byte) string {
		var r accountRecord
		if value != nil && decode(x.service, accountKey(hash), value, &r) != nil {
			return "" // the account is reported
		}
		counts := func(l leasedUntil) bool { return l.Until == h.Charge.Until && l.PerMs > 0 }
		if !slices.ContainsFunc(r.Leased, counts) {
			return fmt.Sprintf("the account %s has no positions until %d: it may lease more than its budget", h.Charge.Account, h.Charge.Until)
		}
		return ""
	})
}

func (x *examiner) want(kind string, by, key []byte, check func([]byte) string) {
	if x.Known && !x.record.Removing { // a removal takes away keys in their order
		x.wants = append(x.wants, want{kind, bytes.Clone(by), key, check})
	}
}

// compare reads what the batch refers to.
func (x *examiner) compare(ctx context.Context) error {
	if len(x.wants) == 0 {
		return nil
	}
	keys := make([][]byte, len(x.wants))
	for i, w := range x.wants {
		keys[i] = w.key
	}
	values, err := x.reader.Get(ctx, keys...)
	if err != nil {
		return err
	}
	for i, w := range x.wants {
		if reason := w.check(values[i]); reason != "" {
			x.addFault(w.kind, w.by, "%s", reason)
		}
	}
	return nil
}

// examineBlock checks a block, and that the next one begins where it ends.
func (x *examiner) examineBlock(pair Pair, next *Pair) error {
	base, ok := blockBase(pair.Key)
	if !ok {
		return errKeyLength
	}
	x.checkFirst(pair.Key, x.before, base)
	b := block{base: base}
	if err := decode(x.service, pair.Key, pair.Value, &b); err != nil {
		return err
	}
	x.countBlock(&b)
	x.checkCharge(&b, pair.Key)
	x.want(FaultQueue, pair.Key, freeKey(b.SequenceBits, b.NotBefore, base), func(value []byte) string {
		if value == nil {
			return fmt.Sprintf("its entry in the queue is missing: its %d positions are never granted again", b.size())
		}
		return ""
	})
	if x.checkPlace(&b, pair.Key) {
		x.checkNext(&b, pair.Key, next)
	}
	return nil
}

// countBlock counts the block among those that are held or free.
func (x *examiner) countBlock(b *block) {
	switch h := b.Holder; {
	case h == nil || h.Released != nil || h.Expired <= x.now:
		x.Free++
	case h.Expired <= x.now+x.soon:
		x.Ending++
	default:
		x.Held++
	}
}

// checkPlace reports whether the block lies in the space of the service.
func (x *examiner) checkPlace(b *block, key []byte) bool {
	end := b.base + b.size()
	switch {
	case b.base%b.size() != 0:
		x.addFault(FaultPlace, key, "2^%d positions do not begin at %d", b.SequenceBits, b.base)
	case x.Known && end > 1<<x.record.spaceBits():
		x.addFault(FaultPlace, key, "its positions %d to %d do not lie in the %d positions of the service", b.base, end-1, uint64(1)<<x.record.spaceBits())
	case x.bounded && end > x.frontier.Next:
		x.addFault(FaultFrontier, key, "its positions %d to %d do not lie before the frontier %d: they may be granted once more", b.base, end-1, x.frontier.Next)
	default:
		return true
	}
	return false
}

// checkNext checks that the positions after the block begin another one, or are those
// that were never granted.
func (x *examiner) checkNext(b *block, key []byte, next *Pair) {
	if x.record.Removing || !x.bounded {
		return
	}
	end, begins := b.base+b.size(), x.frontier.Next
	if next != nil {
		if base, ok := blockBase(next.Key); ok {
			begins = min(base, begins)
		}
	}
	switch {
	case begins < end:
		x.addFault(FaultOverlap, key, "its positions %d to %d overlap the next block, which begins at %d", b.base, end-1, begins)
	case begins > end:
		x.addFault(FaultGap, key, "the positions %d to %d after it are in no block: they are never granted", end, begins-1)
	}
}

// checkFirst checks that a block begins at position 0, if any position was ever granted.
// before is the key before that of the first block, or of the frontier where there is none.
func (x *examiner) checkFirst(key, before []byte, begins uint64) {
	if len(before) > 0 && before[0] == keyBlock || begins == 0 || !x.bounded || x.record.Removing {
		return
	}
	if end := min(begins, x.frontier.Next); end > 0 {
		x.addFault(FaultGap, key, "the positions 0 to %d are in no block: they are never granted", end-1)
	}
}
