// SPDX-License-Identifier: Apache-2.0

package election

import (
	"bytes"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Standby is a candidate that is registered and does not lead.
type Standby struct {
	Candidate string
	Priority  int32
}

// registration is what a standby writes about itself. It writes it at each
// look, with another number, so that the leader sees that it is alive.
type registration struct {
	Standby
	member string // a random name
	beats  int64
}

// registrationFormat is the first element of a registration's value.
const registrationFormat = 1

func (r registration) key(prefix []byte) []byte {
	return tuple.AppendString(tuple.AppendInt(bytes.Clone(prefix), -int64(r.Priority)), r.member)
}

// value returns (format, owner, beats).
func (r registration) value() []byte {
	return tuple.AppendInt(tuple.AppendString(tuple.AppendInt(nil, registrationFormat), r.Candidate), r.beats)
}

// decodeRegistration reads a pair below the prefix.
func decodeRegistration(prefix []byte, pair kv.KeyValue) (r registration, err error) {
	priority, rest, err := tuple.ReadInt(bytes.TrimPrefix(pair.Key, prefix))
	if err == nil {
		r.member, _, err = tuple.ReadString(rest)
	}
	if err != nil {
		return r, fmt.Errorf("election: the key %x of a standby cannot be read: %w", pair.Key, err)
	}
	rest, err = newer.ReadFormat(pair.Value, registrationFormat)
	if err == nil {
		r.Candidate, rest, err = tuple.ReadString(rest)
	}
	if err == nil {
		r.beats, _, err = tuple.ReadInt(rest)
	}
	if err != nil {
		return r, fmt.Errorf("election: the value of the standby at %x cannot be read: %w", pair.Key, err)
	}
	r.Priority = int32(-priority)
	return r, nil
}

// DecodeStandby reads a pair of the directory of elections: what follows ("S", name) in
// the key, and the value.
func DecodeStandby(rest, value []byte) (Standby, error) {
	r, err := decodeRegistration(nil, kv.KeyValue{Key: rest, Value: value})
	return r.Standby, err
}
