// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// answer prints the answer of a resolve.
type answer struct {
	placement.Resolution
	err error
}

// String returns where the key is, or the error.
func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%v at %v, epoch %d, by topology %d", a.Locality, a.Owner, a.Epoch, a.Decision.Topology)
}

// outcome prints what a home has answered.
type outcome struct {
	found any
	err   error
}

// String returns what was found, or the error.
func (o outcome) String() string {
	if o.err != nil {
		return o.err.Error()
	}
	return fmt.Sprint(o.found)
}

// eventLine prints an event of a coordinator.
type eventLine struct{ placement.Event }

// String returns the fields that are set.
func (e eventLine) String() string {
	s := e.Kind.String()
	if e.Key != (placement.Key{}) {
		s += " " + e.Key.String()
	}
	if !e.Owner.IsZero() {
		s += " " + e.Owner.String()
	}
	if e.Epoch != 0 {
		s += fmt.Sprintf(" epoch %d", e.Epoch)
	}
	if e.Request != 0 {
		s += fmt.Sprintf(" request %d", e.Request)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}
