// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzDecode decodes arbitrary bytes as each record: the result is what was encoded,
// or a CorruptError; never a panic.
func FuzzDecode(f *testing.F) {
	last := int64(7)
	for _, record := range []interface{ validate() error }{
		&serviceRecord{Incarnation: "i", times: times{Latest: 1, Claim: &claim{At: 2, By: "b"}, Lengths: []length{{1, 2}}}},
		&frontierRecord{Next: 64, Sizes: 3},
		&requestRecord{Until: 1, Leases: []leaseRef{{Base: 1, Created: 2}}},
		&accountRecord{Leased: []leasedUntil{{1, 2}}},
		&goneRecord{Floor: 1, Frame: &frame{1, 2, 3}, Removed: []removedService{{"s", "i"}}},
		&block{BitSeq: 3, bounds: bounds{NotBefore: 1, EndNotBefore: 2, Future: &span{3, 4}}, Holder: &holder{Created: 1, Expired: 2, Secret: "s", Released: &last}},
	} {
		value := encode([]byte("b"), record)
		f.Add([]byte("b"), value, false)
		f.Add([]byte("b"), value[10:], true)
	}
	f.Fuzz(func(t *testing.T, key, value []byte, sealed bool) {
		if sealed {
			value = seal(key, value)
		}
		for _, record := range []interface{ validate() error }{&serviceRecord{}, &frontierRecord{}, &requestRecord{}, &accountRecord{}, &goneRecord{}, &block{}} {
			err := decode("service", key, value, record)
			var corrupt *CorruptError
			if err != nil && (!errors.As(err, &corrupt) || !bytes.Equal(corrupt.Key, key)) {
				t.Errorf("%T of %q: got %v, want a CorruptError", record, value, err)
			}
			if err == nil {
				if again := decode("service", key, encode(key, record), record); again != nil {
					t.Errorf("%T of %q: encoded once more it is %v", record, value, again)
				}
			}
		}
	})
}

// TestDecodeRefuses checks what is refused although its checksum is right.
func TestDecodeRefuses(t *testing.T) {
	for text, record := range map[string]interface{ validate() error }{
		`{"incarnation":""}`:                                &serviceRecord{},
		`{"incarnation":"i","quarantine":-1}`:               &serviceRecord{},
		`{"incarnation":"i","continued":-1}`:                &serviceRecord{},
		`{"incarnation":"i","latest":-1}`:                   &serviceRecord{},
		`{"incarnation":"i","claim":{"at":1}}`:              &serviceRecord{},
		`{"incarnation":"i","lengths":[{"until":1}]}`:       &serviceRecord{},
		`{"next":1073741825}`:                               &frontierRecord{},
		`{"until":1}`:                                       &requestRecord{},
		`{"floor":-1}`:                                      &goneRecord{},
		`{"leased":[{"until":1,"perMs":-1}]}`:               &accountRecord{},
		`{"bitSeq":30}`:                                     &block{},
		`{"bitSeq":-1}`:                                     &block{},
		`{"bitSeq":1,"fence":-1}`:                           &block{},
		`{"bitSeq":1,"steps":[{"carry":-1}]}`:               &block{},
		`{"future":{"from":2,"until":2}}`:                   &block{},
		`{"holder":{"created":1,"expired":1}}`:              &block{},
		`{"holder":{"created":1,"expired":2}}`:              &block{},
		`{"holder":{"created":1,"expired":2,"secret":"s"}}`: &block{}, // nothing before it
		`[]`: &block{},
		`{`:  &block{},
	} {
		key := []byte("k")
		if err := decode("service", key, seal(key, []byte(text)), record); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%T of %s: got %v, want ErrCorrupt", record, text, err)
		}
	}
}
