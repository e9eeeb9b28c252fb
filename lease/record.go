// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/kazahana-db/kazahana/internal/newer"
)

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
// is a [*CorruptError], one that a newer version made an [ErrNewer]: it may have members that
// this program would ignore, and lose when it writes the record.
func decode(service string, key, value []byte, record interface{ validate() error }) error {
	corrupt := func(err error) error {
		return &CorruptError{ServiceID: service, Key: append([]byte(nil), key...), Cause: err}
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
		return corrupt(fmt.Errorf("its checksum is no number: %w", err))
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
