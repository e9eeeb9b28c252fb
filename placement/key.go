// SPDX-License-Identifier: Apache-2.0

// Package placement has what programs with virtual actors say and are told about where an actor is active:
// the [Key] of an actor, the members of a cluster and their versioned [Topology], the [Strategy] that
// chooses the member for a key, and the [Event] and [Explanation] of what was decided. Package host runs
// the actors, and package protoactor those of protoactor-go.
//
//	h, err := host.New(db, host.Options{
//		Name:     "bank-1",
//		Strategy: placement.LabelFilter{Require: map[string]map[string]string{"report": {"role": "batch"}}},
//		Events:   func(e placement.Event) { counts[e.Kind]++ },
//	})
//	e, err := h.Explain(placement.Key{Kind: "account", ID: "alice"}) // why the actor is where it is
//
// # What holds
//
// A member activates a key only under a lease. The epoch of a lease is greater
// than all epochs before it for the key, so it serves as a fence. A key counts as active
// only after the activation was stored under the lease. Everything that a member has acquired is in
// use, was given back, or is being given back. Clocks affect when something happens,
// never whether it is allowed.
//
// Members with the same topology agree on the members of keys without asking each
// other ([Rendezvous]). While their topologies differ, the claim decides: the loser
// gets the holder of the key.
package placement

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits of a [Key], in bytes. They keep the keys of a database well below
// its limit and messages readable.
const (
	MaxKind = 255
	MaxID   = 1024
)

// Key names a virtual actor: its kind, and its identity among those of the kind.
// It exists whether or not it is active anywhere.
type Key struct {
	Kind string // 1 to MaxKind bytes of UTF-8, without "/" and NUL
	ID   string // 1 to MaxID bytes of UTF-8, without NUL
}

// String returns kind/id, which [ParseKey] reads.
func (k Key) String() string { return k.Kind + "/" + k.ID }

// ParseKey reads what [Key.String] returns. The kind ends at the first "/".
func ParseKey(text string) (Key, error) {
	kind, id, found := strings.Cut(text, "/")
	k := Key{Kind: kind, ID: id}
	if !found {
		return Key{}, fmt.Errorf("%w: %q: there is no \"/\" between the kind and the id", ErrInvalidKey, clip(text))
	}
	return k, k.Validate()
}

// Validate returns an [ErrInvalidKey] with all faults of the key.
func (k Key) Validate() error {
	if validText(k.Kind, MaxKind) && validText(k.ID, MaxID) && strings.IndexByte(k.Kind, '/') < 0 {
		return nil
	}
	faults := []error{textFault("kind", k.Kind, MaxKind), textFault("id", k.ID, MaxID)}
	if strings.Contains(k.Kind, "/") {
		faults = append(faults, errors.New(`the kind contains "/", which ends it in kind/id`))
	}
	text := k.Kind
	if k.ID != "" {
		text = k.String()
	}
	return fmt.Errorf("%w: %q: %s", ErrInvalidKey, clip(text), strings.ReplaceAll(errors.Join(faults...).Error(), "\n", "; "))
}

func validText(s string, most int) bool {
	return s != "" && len(s) <= most && strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

func textFault(what, s string, most int) error {
	switch {
	case s == "":
		return fmt.Errorf("the %s is empty", what)
	case len(s) > most:
		return fmt.Errorf("the %s has %d bytes; at most %d are possible", what, len(s), most)
	case !utf8.ValidString(s):
		return fmt.Errorf("the %s is not valid UTF-8", what)
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("the %s contains a NUL byte", what)
	}
	return nil
}

// Holder is the owner that has a key.
type Holder struct {
	Owner   Owner
	Address string
	Epoch   int64
}

// clip shortens a key for an error text.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
