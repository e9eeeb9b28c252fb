// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/newer"
)

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

// want is a key that another one needs, and the check of its value, which returns what is
// wrong with it, or "".
type want struct {
	kind  FaultKind
	by    []byte // the key at fault if the check fails
	key   []byte
	check func(value []byte) string
}

func (x *examiner) addFault(kind FaultKind, key []byte, format string, args ...any) {
	x.Faults = append(x.Faults, Fault{kind, bytes.Clone(key), fmt.Sprintf(format, args...)})
}

// examine checks a pair, and notes what it refers to. next is the pair behind it; nil
// behind the last one.
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
	var corrupt *CorruptError
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
			return fmt.Sprintf("the block at %d has 2^%d positions and is free from %d on, the entry says 2^%d from %d on", e.base, b.BitSeq, b.NotBefore, e.bitSeq, e.at)
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
// request that was granted anew meanwhile. The entry goes when it is due.
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
		x.addFault(FaultRecord, key, "its account %q is no hash", h.Charge.Account)
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

func (x *examiner) want(kind FaultKind, by, key []byte, check func([]byte) string) {
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
