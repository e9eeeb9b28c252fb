// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

// TestRememberedServices: a server remembers the services that it leases for, and not
// each one that there ever was: others may remove them.
func TestRememberedServices(t *testing.T) {
	listed := map[string]ServiceConfig{"listed-1": {}, "listed-2": {}}
	server, err := NewServer(nil, Options{MaxServices: 10, Services: listed})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		server.rememberRecord(fmt.Sprint(i), serviceRecord{times: times{Latest: int64(i)}})
	}
	if n := len(server.seen); n != 2*10+2+1 {
		t.Errorf("%d services are remembered, want 23", n)
	}
	for _, id := range []string{"999", "977"} {
		if server.lastSeen(id).Latest == 0 {
			t.Errorf("service %s, one of those that ended last, is forgotten", id)
		}
	}
	server.rememberRecord("idle", serviceRecord{times: times{Latest: 1}})
	if server.lastSeen("idle").Latest != 1 || server.lastSeen("977").Latest != 0 {
		t.Error("the service that was leased from just now is forgotten, or the one that ended first is not")
	}
}

// FuzzDecode decodes arbitrary bytes as each record: the result is what was encoded,
// a CorruptError, or an ErrNewer; never a panic.
func FuzzDecode(f *testing.F) {
	last := int64(7)
	for _, record := range []interface{ validate() error }{
		&serviceRecord{Incarnation: "i", times: times{Latest: 1, Claim: &claim{At: 2, By: "b"}, Lengths: []length{{1, 2}}}},
		&frontierRecord{Next: 64, Sizes: 3},
		&requestRecord{Until: 1, Leases: []leaseRef{{Base: 1, Created: 2}}},
		&accountRecord{Leased: []leasedUntil{{1, 2, 1}}},
		&goneRecord{Floor: 1, Frame: &frame{1, 2, 3}, Removed: []removedService{{"s", "i"}}},
		&block{SequenceBits: 3, bounds: bounds{NotBefore: 1, EndNotBefore: 2, Future: &span{3, 4}}, Holder: &holder{Created: 1, Expired: 2, Secret: "s", Released: &last}},
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
			var corrupt *refusal.CorruptError
			if err != nil && !errors.Is(err, ErrNewer) && (!errors.As(err, &corrupt) || !bytes.Equal(corrupt.Key, key)) {
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
