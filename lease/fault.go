// SPDX-License-Identifier: Apache-2.0

package lease

import "fmt"

// FaultKind says what is wrong with a key of a service's map.
type FaultKind string

// The kinds of faults.
const (
	FaultRecord   FaultKind = "record"   // the key or its value is not what this package writes
	FaultNewer    FaultKind = "newer"    // a newer version of this library wrote the value: see [ErrNewer]
	FaultPlace    FaultKind = "place"    // a block that does not lie in the space of the service, or not aligned
	FaultOverlap  FaultKind = "overlap"  // two blocks have the same positions
	FaultGap      FaultKind = "gap"      // positions below the frontier are in no block: they are never granted
	FaultFrontier FaultKind = "frontier" // a block lies behind the frontier: its positions are granted twice
	FaultQueue    FaultKind = "queue"    // a block without its entry in the queue, or an entry without its block
	FaultRequest  FaultKind = "request"  // a request record without the entry by which it is forgotten
	FaultCharge   FaultKind = "charge"   // a lease that the account does not count in which it counts
)

// Fault is a key of a service's map that is not as it should be, as [Examine] found.
type Fault struct {
	Kind   FaultKind
	Key    []byte // in the map
	Reason string
}

// String describes the fault.
func (f Fault) String() string { return fmt.Sprintf("%s %q: %s", f.Kind, f.Key, f.Reason) }
