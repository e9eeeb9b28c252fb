// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// applyTo sets the database's options, which have the client's numbers.
func (o Options) applyTo(d *cDatabase) error {
	type option struct {
		name   string
		number int
		value  any // a number, a text, or whether the option is on; the zero value is not set
	}
	t := o.Transactions
	for _, s := range []option{
		{"Timeout", 500, t.Timeout.Milliseconds()},
		{"RetryLimit", 501, int64(t.RetryLimit)},
		{"MaxRetryDelay", 502, t.MaxRetryDelay.Milliseconds()},
		{"SizeLimit", 503, int64(t.SizeLimit)},
		{"ReportConflictingKeys", 702, t.ReportConflictingKeys},
		{"AutomaticIdempotency", 506, o.AutomaticIdempotency},
		{"CausalReadRisky", 504, o.CausalReadRisky},
		{"MaxWatches", 20, int64(o.MaxWatches)},
		{"LocationCacheSize", 10, int64(o.LocationCacheSize)},
		{"MachineID", 21, o.MachineID},
		{"DatacenterID", 22, o.DatacenterID},
	} {
		value, ok := optionBytes(s.value)
		if !ok {
			continue
		}
		if code := setDatabaseOption(d, s.number, value); code != 0 {
			return fmt.Errorf("fdbkv: setting the option %s: %w", s.name, newError(kv.Code(code), "setting a database's option"))
		}
	}
	return nil
}

// optionBytes returns what the client takes for a value, and false for the zero value.
func optionBytes(value any) ([]byte, bool) {
	switch v := value.(type) {
	case int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(v)), v != 0
	case string:
		return []byte(v), v != ""
	default:
		return nil, value == true
	}
}
