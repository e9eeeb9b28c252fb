// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/idgen"
)

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
	CustomEpoch int64 `json:"epoch"`
	BitReserve  int   `json:"bitReserve"`
	BitTs       int   `json:"bitTs"`
}

func frameOf(l idgen.Layout) frame {
	return frame{CustomEpoch: l.CustomEpochMs, BitReserve: l.BitReserve, BitTs: l.BitTs}
}

// of returns a layout with the frame, and the other bits of l.
func (f frame) of(l idgen.Layout) idgen.Layout {
	l.CustomEpochMs, l.BitReserve, l.BitTs = f.CustomEpoch, f.BitReserve, f.BitTs
	return l
}
