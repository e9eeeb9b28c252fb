// SPDX-License-Identifier: Apache-2.0

package persistable

import "fmt"

// Report is what Verify found, and what Repair did.
type Report struct {
	Records  int      // that were read
	Entries  int      // of readable indexes that were read
	Skipped  []string // the names in keys of the indexes that are not readable; in a locked tenant, and with NoRecount, counts and sums of many records
	Faults   []Fault  // at most a thousand; with those that were repaired
	More     bool     // there are more faults
	Repaired int      // the number of faults that were repaired
	// Next is a token if the call ended with an error: with it another call of
	// [Indexes.VerifyWith] goes on where this one stopped.
	Next string
}

// Fault is a record without its entry, an entry without its record, or bytes that
// cannot be decoded.
type Fault struct {
	Index  string // its name in keys; empty if the record itself is at fault
	Key    []byte // the entry's, or the record's
	ID     string // the record's id as a tuple, if it is known
	Reason string
}

// String describes the fault.
func (f Fault) String() string {
	return fmt.Sprintf("%s record %s key %x: %s", f.Index, f.ID, f.Key, f.Reason)
}

const maxFaults = 1000

func (r *Report) addFault(f Fault) {
	if len(r.Faults) == maxFaults {
		r.More = true
		return
	}
	r.Faults = append(r.Faults, f)
}
