// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/refusal"
)

// The keys of a service, by their first byte. docs/layout.md describes them
// with their values. Numbers are big-endian, so that their order is that of the
// bytes.
const (
	keyService  = 's' // what never changes about the service
	keyFrontier = 'f' // where the positions that were never granted begin
	keyBlock    = 'b' // + base: a block of positions, and its holder
	keyFree     = 'q' // + bitSeq, time, base: the blocks by the time they become free; see freeKey
	keyRequest  = 'r' // + hash of the request key: what was granted for it
	keyForget   = 'x' // + time, hash: when what was granted for it can be forgotten
	keyAccount  = 'a' // + hash of an account: what it has leased
	keyGone     = 'g' // of the default service: what is left of services that were removed
)

func serviceKey() []byte { return []byte{keyService} }

func goneKey() []byte { return []byte{keyGone} }

func frontierKey() []byte { return []byte{keyFrontier} }

func blockKey(base uint64) []byte {
	return binary.BigEndian.AppendUint32([]byte{keyBlock}, uint32(base))
}

// blockBase is the inverse of blockKey.
func blockBase(key []byte) (base uint64, ok bool) {
	if len(key) != 5 || key[0] != keyBlock {
		return 0, false
	}
	return uint64(binary.BigEndian.Uint32(key[1:])), true
}

// requestHash stands for a request key in keys.
func requestHash(requestKey string) []byte {
	sum := sha256.Sum256([]byte(requestKey))
	return sum[:16]
}

func requestRecordKey(hash []byte) []byte { return append([]byte{keyRequest}, hash...) }

func accountKey(hash []byte) []byte { return append([]byte{keyAccount}, hash...) }

func forgetKey(at int64, hash []byte) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{keyForget}, uint64(at)), hash...)
}

// forgetHash returns the hash at the end of a forgetKey.
func forgetHash(key []byte) (hash []byte, ok bool) {
	if len(key) != 25 || key[0] != keyForget {
		return nil, false
	}
	return key[9:], true
}

// recordFormat begins every value.
const recordFormat = '1'

// encode returns the value of a record: the format, the CRC-32C of key and text
// as 8 hexadecimal digits, a space, and the text, which is JSON.
func encode(key []byte, record any) []byte {
	text, err := json.Marshal(record)
	if err != nil {
		panic(fmt.Sprintf("lease: a record that JSON cannot hold: %v", err)) // they hold numbers and strings
	}
	return seal(key, text)
}

// seal puts format and checksum in front of a text.
func seal(key, text []byte) []byte {
	return append(fmt.Appendf(nil, "%c%08x ", recordFormat, checksum(key, text)), text...)
}

// decode is the inverse of encode. A value that encode did not make for the key
// is an [ErrCorrupt], one that a newer version made an [ErrNewer]: it may have members that
// this program would ignore, and lose when it writes the record.
func decode(service string, key, value []byte, record interface{ validate() error }) error {
	corrupt := func(err error) error {
		return &refusal.CorruptError{ServiceID: service, Key: append([]byte(nil), key...), Cause: err}
	}
	if len(value) < 10 || value[9] != ' ' {
		return corrupt(errors.New("it does not begin with a format and a checksum"))
	}
	if value[0] > recordFormat && value[0] <= '9' {
		return newerRecord(service, key, newer.Format(int64(value[0]-'0'), recordFormat-'0', ""))
	}
	if value[0] != recordFormat {
		return corrupt(fmt.Errorf("its format is %q, this version knows %q", value[0], recordFormat))
	}
	sum, err := hex.DecodeString(string(value[1:9]))
	if err != nil {
		return corrupt(fmt.Errorf("its checksum is not a number: %w", err))
	}
	text := value[10:]
	if got := fmt.Sprintf("%x", sum); got != fmt.Sprintf("%08x", checksum(key, text)) {
		return corrupt(fmt.Errorf("its checksum is %s, its content has %08x", got, checksum(key, text)))
	}
	switch err := newer.Unmarshal(text, record); {
	case errors.Is(err, ErrNewer):
		return newerRecord(service, key, err)
	case err != nil:
		return corrupt(err)
	}
	if err := record.validate(); err != nil {
		return corrupt(err)
	}
	return nil
}

func newerRecord(service string, key []byte, err error) error {
	return fmt.Errorf("lease: service %q, key %q: %w", service, key, err)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(key, text []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, text)
}

// frontierRecord tells which positions are in blocks: those below Next.
type frontierRecord struct {
	Next uint64 `json:"next"`
	// Sizes has bit n set if there was ever a block of 2^n positions, but for those
	// before Below.
	Sizes uint64 `json:"sizes"`
	// Start is where the first block of the service was made. The positions before
	// Below, which is Start at first, are in blocks as large as they can be, which were
	// not split yet: smaller ones are made of them when there is no room after Next.
	Start uint64 `json:"start,omitempty"`
	Below uint64 `json:"below,omitempty"`
}

func (r *frontierRecord) validate() error {
	if r.Next > 1<<maxSpaceBits || r.Start > r.Next || r.Below > r.Start {
		return fmt.Errorf("the next position is %d, the first one %d, and that below it %d", r.Next, r.Start, r.Below)
	}
	return nil
}

// hasSize reports whether there may be blocks of 2^bitSeq positions.
func (r *frontierRecord) hasSize(bitSeq int) bool { return r.Sizes>>bitSeq&1 != 0 }

// requestRecord is what was granted for a request key.
type requestRecord struct {
	Until  int64      `json:"until"` // the end of the first of the leases to end
	Leases []leaseRef `json:"leases"`
}

// leaseRef names a lease.
type leaseRef struct {
	Base    uint64 `json:"base"`
	Created int64  `json:"created"`
}

func (r *requestRecord) validate() error {
	if len(r.Leases) == 0 {
		return errors.New("it names no lease")
	}
	return nil
}

// serviceRecord is what the store knows of a service as a whole: what never
// changes, its quarantine, and the times by which it is leased.
type serviceRecord struct {
	CustomEpoch   int64  `json:"epoch"`
	ReserveBits   int    `json:"bitReserve"`
	TimestampBits int    `json:"bitTs"`
	Incarnation   string `json:"incarnation"`     // random: tells this record from one written after a loss
	Store         string `json:"store,omitempty"` // the incarnation of the store; see Tx.Incarnation
	Quarantine    int64  `json:"quarantine"`      // nothing is granted before, Unix milliseconds
	// Continued is until when leases that were lost may be continued: those that
	// are granted after the quarantine end later.
	Continued int64 `json:"continued,omitempty"`
	// Floor is when the leases of services that were removed have ended: nothing is
	// granted before.
	Floor     int64  `json:"floor,omitempty"`
	After     string `json:"after,omitempty"`     // the incarnation of this service that was removed before
	Unsettled bool   `json:"unsettled,omitempty"` // the floor is not known yet
	Removing  bool   `json:"removing,omitempty"`  // nothing is granted: the keys are being removed
	times
}

func newServiceRecord(c ServiceConfig) serviceRecord {
	return serviceRecord{
		CustomEpoch: c.Layout.CustomEpoch, ReserveBits: c.Layout.ReserveBits, TimestampBits: c.Layout.TimestampBits,
		Incarnation: randomHex(),
	}
}

func (r *serviceRecord) validate() error {
	if r.Incarnation == "" || r.Quarantine < 0 || r.Continued < 0 || r.Floor < 0 {
		return errors.New("it has no incarnation, or a quarantine before 1970")
	}
	return r.times.validate()
}

func (r *serviceRecord) frame() frame {
	return frame{CustomEpoch: r.CustomEpoch, ReserveBits: r.ReserveBits, TimestampBits: r.TimestampBits}
}

// lastEnd returns when all leases of the service have ended, with their
// continuation, and its quarantine is over.
func (r *serviceRecord) lastEnd() int64 {
	end := max(r.Latest, r.Quarantine, r.Continued, r.Floor)
	for _, l := range r.Lengths {
		end = max(end, l.Until)
	}
	return end
}

// spaceBits returns the bits of a position.
func (r *serviceRecord) spaceBits() int { return 64 - r.ReserveBits - r.TimestampBits - 1 }

// goneRecord is what is left of services that were removed. It is in the map of
// the default service, which is never removed.
type goneRecord struct {
	// Floor is when the last of their leases, and its continuation, had ended.
	Floor int64 `json:"floor"`
	// Frame is what their IDs have in common; a service of another frame is not
	// removed, so that its name is not used again with this one.
	Frame *frame `json:"frame,omitempty"`
	// Removed are the services that were removed last, the latest at the end.
	Removed []removedService `json:"removed,omitempty"`
}

// removedService names a service that was removed, and its record.
type removedService struct {
	Service     string `json:"service"`
	Incarnation string `json:"incarnation"`
}

// maxRemoved bounds goneRecord.Removed.
const maxRemoved = 32

func (r *goneRecord) validate() error {
	if r.Floor < 0 {
		return errors.New("its floor is before 1970")
	}
	return nil
}

// incarnationOf returns that of the last removed record of a service; "" if none
// is known.
func (r *goneRecord) incarnationOf(service string) string {
	for _, removed := range slices.Backward(r.Removed) {
		if removed.Service == service {
			return removed.Incarnation
		}
	}
	return ""
}

// frame is the part of a layout that never changes.
type frame struct {
	CustomEpoch   int64 `json:"epoch"`
	ReserveBits   int   `json:"bitReserve"`
	TimestampBits int   `json:"bitTs"`
}

func frameOf(l idgen.Layout) frame {
	return frame{CustomEpoch: l.CustomEpoch, ReserveBits: l.ReserveBits, TimestampBits: l.TimestampBits}
}

// of returns a layout with the frame, and the other bits of l.
func (f frame) of(l idgen.Layout) idgen.Layout {
	l.CustomEpoch, l.ReserveBits, l.TimestampBits = f.CustomEpoch, f.ReserveBits, f.TimestampBits
	return l
}

// HolderKey returns the key, in the map of the lease's service, of the record that
// names the holder of the positions of l. A program that keeps other data in the
// store's medium can fence its transactions with it: it is written when the positions
// are granted, released, split or merged, and hardly ever otherwise.
func HolderKey(l idgen.Lease) []byte { return blockKey(l.Base()) }

// CheckHolder returns nil if value, which a store holds under HolderKey(l), says
// that none of the positions of l was granted again after l. It does not matter
// whether l has ended or was released: the IDs that were made under it stay its
// holder's. Otherwise the error is [ErrNotFound], or an [ErrCorrupt].
func CheckHolder(serviceID string, l idgen.Lease, value []byte) error {
	if value == nil {
		return fmt.Errorf("%w: the store knows nothing of machine %d any more", ErrNotFound, l.ID)
	}
	b := block{base: l.Base()}
	if err := decode(serviceID, HolderKey(l), value, &b); err != nil {
		return err
	}
	h := b.Holder
	switch {
	case b.SequenceBits != l.SequenceBits || h == nil:
		return fmt.Errorf("%w: the positions of machine %d have been divided anew", ErrNotFound, l.ID)
	case h.Created != l.Created || h.Secret != l.Secret:
		return fmt.Errorf("%w: machine %d was granted again, %d ms after it", ErrNotFound, l.ID, h.Created-l.Created)
	}
	return nil
}
