// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// breakdown has the parts of an ID.
type breakdown struct {
	ID       idgen.ID  `json:"id"`
	External string    `json:"external,omitempty"` // set if the input was an external ID
	Hex      string    `json:"hex"`
	Time     time.Time `json:"time"`
	UnixMs   int64     `json:"unixMs"`
	Machine  int       `json:"machine"`  // as ID.MachineID returns it: with the fallback bit
	Leased   int       `json:"leased"`   // without it: the machine id of a lease of the layout's size
	Sequence int       `json:"sequence"` // within the millisecond
	Fallback bool      `json:"fallback"` // made without a valid lease
	Kind     kind      `json:"kind"`
}

// kind says how an ID was made, as far as its bits show.
type kind string

const (
	leasedID       kind = "leased"          // under a lease
	randomFallback kind = "random_fallback" // in positions that continue no lease
	// After a lease that had just ended, which makes it unique; or at random, by a client
	// without a provider. The bits do not show which.
	otherFallback kind = "cached_or_standalone_fallback"
)

func kindOf(l idgen.Layout, id idgen.ID) kind {
	position := uint64(l.MachineID(id)&(1<<(l.BitID-1)-1))<<l.BitSeq | uint64(l.Sequence(id))
	switch {
	case !l.IsFallback(id):
		return leasedID
	case position >= l.FallbackPositions():
		return randomFallback
	}
	return otherFallback
}

func breakDown(l idgen.Layout, id idgen.ID) breakdown {
	t := l.Time(id)
	return breakdown{
		ID: id, Hex: fmt.Sprintf("%#016x", int64(id)), Time: t, UnixMs: t.UnixMilli(), Machine: l.MachineID(id),
		Leased: l.MachineID(id) & (1<<(l.BitID-1) - 1), Sequence: l.Sequence(id), Fallback: l.IsFallback(id), Kind: kindOf(l, id),
	}
}

// explainKind explains a kind.
func (b breakdown) explainKind() string {
	switch b.Kind {
	case randomFallback:
		return "fallback: random, made without a lease; unique by odds"
	case otherFallback:
		return fmt.Sprintf("fallback: continued behind the lease of machine %d, and unique; or random, if a client without a provider made it", b.Leased)
	}
	return "leased"
}

func (b breakdown) Lines() []string {
	pairs := []any{"id", b.ID}
	if b.External != "" {
		pairs = append(pairs, "external", b.External)
	}
	return append(shell.Fields(append(pairs, "hex", b.Hex, "time", b.Time.Format("2006-01-02T15:04:05.000Z07:00"),
		"machine", b.Machine, "sequence", b.Sequence, "kind", b.explainKind())...), "")
}
