// SPDX-License-Identifier: Apache-2.0

// Package placement decides at which member each virtual actor is active, one
// member at a time, and finds active actors again. Its core is a [Coordinator],
// which does no I/O: its caller executes its decisions. Most programs use package host,
// which does that.
//
//	c, err := placement.NewCoordinator(placement.Options{Self: placement.Owner{Name: "a", Incarnation: 1}, Address: "10.0.0.1:7000"})
//	c.StartMember([]string{"account"}, now)
//	c.UpdateTopology(topology, now) // which members there are
//	out, err := c.Resolve(placement.Key{Kind: "account", ID: "alice"}, now)
//	if out.Resolution != nil {
//		return *out.Resolution // active here, or at another member
//	}
//	for _, command := range out.Commands { // claim the key, activate it, store where it is
//		results <- execute(command)
//	}
//	out, err = c.HandleCommandResult(<-results, now) // more commands; in the end out.Answers has the answer to out.Request
//
// # What holds
//
// A coordinator activates a key only under a lease. The epoch of a lease is greater
// than all epochs before it for the key, so it serves as a fence. A coordinator
// reports that a key is active here only after the activation was stored under the
// lease. Everything that it has acquired is in use, was given back, or is being
// given back. It answers every resolve once. Clocks affect when something happens,
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
	"time"
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

// Lease is the right of an owner to activate a key, under an epoch. A home of
// locks grants it.
type Lease struct {
	Key     Key
	Owner   Owner
	Request RequestID // of the claim
	// Epoch is greater than that of every lease granted for the key before, even
	// after releases and removals. It fences: a home, and a system outside,
	// refuses an epoch smaller than one that it has seen.
	Epoch int64
	// ExpiresAt is when the lease lapses, on the clock that the coordinator was
	// given. The zero time means that it lasts as long as its owner lives.
	ExpiresAt time.Time
	// Loaded says that Entry is what the storage has for the key, nil if it has
	// nothing: the home read it with the claim, and the coordinator does not load
	// it again.
	Loaded bool
	Entry  *ActivationEntry
	// Kept says that the claim itself is the activation: there is nothing to
	// release once the activation is stored, and its removal ends the claim.
	Kept bool
}

// Holder is the owner that has a key.
type Holder struct {
	Owner   Owner
	Address string
	Epoch   int64
}

// ActivationRecord is what an executor tells about an activation.
type ActivationRecord struct {
	PID      string // where it is, for the caller's transport
	Snapshot []byte // the executor's own; nil: none
	Version  uint64 // of the snapshot
}

// ActivationEntry is an activation as a storage keeps it.
type ActivationEntry struct {
	Owner      Owner
	Address    string // of the owner
	Epoch      int64  // of the lease under which it was stored
	Topology   int64  // the version by which the owner was chosen
	Record     ActivationRecord
	ObservedAt time.Time
}
