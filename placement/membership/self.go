// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/placement"
)

// Self is what a member tells of itself.
type Self struct {
	// Name is the member's own: no other member that is alive may have it. 1 to MaxName
	// bytes of UTF-8 without NUL. A process that restarts best keeps its name.
	Name string
	// Address is where the member's transport listens, for others; at most MaxAddress bytes.
	Address string
	// Kinds are the kinds that it activates. None: it calls, and activates nothing.
	Kinds []string
	// Labels are for strategies: a role, a zone. At most MaxText bytes each.
	Labels map[string]string
}

// The limits of what a member tells, in bytes. A coordinator refuses a whole topology that has a
// longer name or address.
const (
	MaxName    = placement.MaxName
	MaxAddress = placement.MaxName
	MaxText    = 1024
	maxRow     = 90_000 // of all of it together, encoded
)

// Validate reports all faults, joined.
func (s Self) Validate() error {
	faults := []error{checkText("name", s.Name, 1, MaxName), checkText("address", s.Address, 0, MaxAddress)}
	seen := map[string]bool{}
	for _, kind := range s.Kinds {
		if err := (placement.Key{Kind: kind, ID: "id"}).Validate(); err != nil {
			faults = append(faults, fmt.Errorf("membership: the kind %q: %w", clip(kind), err))
		}
		if seen[kind] {
			faults = append(faults, fmt.Errorf("membership: the kind %q is there twice", clip(kind)))
		}
		seen[kind] = true
	}
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		faults = append(faults, checkText("label", label, 1, MaxText), checkText("value of label "+clip(label), s.Labels[label], 0, MaxText))
	}
	if size := len(s.row().encode()); size > maxRow {
		faults = append(faults, fmt.Errorf("membership: the kinds and labels have %d bytes; at most %d are possible", size, maxRow))
	}
	return errors.Join(faults...)
}

// row returns what is stored of a member that has just joined. Slices and maps are
// its own.
func (s Self) row() row {
	return row{
		Owner: placement.Owner{Name: s.Name}, Address: s.Address,
		Kinds: slices.Clone(s.Kinds), Labels: maps.Clone(s.Labels),
	}
}

func checkText(what, text string, least, most int) error {
	switch {
	case len(text) < least:
		return fmt.Errorf("membership: the %s is empty", what)
	case len(text) > most:
		return fmt.Errorf("membership: the %s has %d bytes; at most %d are possible", what, len(text), most)
	case !utf8.ValidString(text):
		return fmt.Errorf("membership: the %s is not valid UTF-8", what)
	case strings.IndexByte(text, 0) >= 0:
		return fmt.Errorf("membership: the %s contains a NUL byte", what)
	}
	return nil
}

// clip bounds what an error shows of a text.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
