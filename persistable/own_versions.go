// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"math"
	"sync"
)

// ownVersions are the records that one attempt of a transaction has written, of types
// with versions. The commit gives them one versionstamp; their numbers tell them apart
// and order them. What is written here cannot be read before the commit.
type ownVersions struct {
	mu      sync.Mutex
	numbers map[string]uint16 // by the key of the version
}

// isOwn reports whether the transaction has written the record whose version has that
// key.
func (o *ownVersions) isOwn(key []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, own := o.numbers[string(key)]
	return own
}

// isEmpty reports whether the transaction has written none.
func (o *ownVersions) isEmpty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.numbers) == 0
}

// check returns an error if the transaction has no number left for a record.
func (o *ownVersions) check(key []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, own := o.numbers[string(key)]; own || len(o.numbers) <= math.MaxUint16 {
		return nil
	}
	return fmt.Errorf("persistable: a transaction can write at most %d records that have versions: write them in several", math.MaxUint16+1)
}

// number returns the number of a record, the next one at its first write, and whether it
// has been written before. The record has passed check.
func (o *ownVersions) number(key []byte) (n uint16, again bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n, again = o.numbers[string(key)]; again {
		return n, true
	}
	if o.numbers == nil {
		o.numbers = map[string]uint16{}
	}
	n = uint16(len(o.numbers))
	o.numbers[string(key)] = n
	return n, false
}
