// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/internal/newer"
)

// Store keeps the state of the ID service. Implementations are safe for
// concurrent use, by several processes as well where the medium is shared. Each
// method is atomic, and durable before it returns without an error; after an
// error that is none of this package's, its outcome is unknown. ctx ends a call.
type Store interface {
	// Init creates the schema, or migrates an older one, under the store's own
	// lock: of several processes that start at once one does so, the others wait.
	// It can be repeated. Call it before the other methods. It returns a
	// [NewerSchema] error for the schema of a newer version, and [ErrLost].
	Init(ctx context.Context) error

	// Reserve moves a sequence ahead by up to r.Count steps and returns the numbers
	// that it passed; fewer than r.Count where r.Bound is near. A sequence that
	// does not exist begins at r.Start. It returns [ErrExhausted], with the
	// sequence unchanged, if the next number would pass r.Bound.
	// Names have 1 to 255 bytes of UTF-8 without control characters.
	Reserve(ctx context.Context, name string, r Reservation) (Range, error)
	// Sequence returns the state of a sequence, or [ErrNotFound].
	Sequence(ctx context.Context, name string) (Sequence, error)
	// SetSequence sets the value of a sequence, if its
	// version still is the one given; 0 stands for a sequence that does not
	// exist. It returns [ErrConflict] otherwise. The caller must make sure that
	// no number is given twice.
	SetSequence(ctx context.Context, name string, value, version int64) error
	// DeleteSequence removes a sequence, and reports whether there was one: false, too, if only
	// an earlier attempt of the call found it. A later Reserve begins the sequence anew: the
	// caller must make sure that no number is given twice. Reservations of a sequence
	// that may be removed set [Reservation.Removable].
	DeleteSequence(ctx context.Context, name string) (found bool, err error)

	// Get returns a document, or [ErrNotFound].
	Get(ctx context.Context, kind Kind, key string) (Document, error)
	// Put stores a document if the stored one still has the version d.Version; 0
	// stands for a document that does not exist. It returns the new version, which
	// is greater, or [ErrConflict]. It sets Created and Updated by itself.
	Put(ctx context.Context, kind Kind, d Document) (version int64, err error)
	// Delete removes a document if it still has the version given. It returns
	// [ErrConflict] if it has another one, and nil if there is none.
	Delete(ctx context.Context, kind Kind, key string, version int64) error
	// List returns documents in the order of their keys' bytes.
	List(ctx context.Context, kind Kind, options ListOptions) ([]Document, error)

	// Revision returns a number that [Store.Advance] raises, 0 at first. Workers
	// keep what they have read of the store for as long as it stays the same.
	Revision(ctx context.Context) (int64, error)
	// Advance raises the revision. Call it after a change that workers must see.
	Advance(ctx context.Context) (int64, error)

	// Ping reports whether the store can be read and written.
	Ping(ctx context.Context) error
	// Close releases connections and locks. Calls that follow return [ErrClosed].
	Close() error
}

// Reservation asks for numbers of a sequence.
type Reservation struct {
	// Start is the value of a sequence that does not exist yet. The first number
	// is Start + Step.
	Start int64
	// Step is the distance of two numbers; it is not 0, and negative for a
	// sequence that descends.
	Step int64
	// Count is the number of numbers to reserve, at least 1.
	Count int64
	// Bound is the last number that may be given: a maximum, or, where Step is
	// negative, a minimum.
	Bound int64
	// Removable says that the caller may remove the sequence: that it is gone, or has begun
	// anew, tells nothing about other sequences. The call may then return [ErrLost], without a
	// refusal of later calls.
	Removable bool
}

// Range is the result of a reservation: the numbers From+Step, From+2·Step, … To.
type Range struct {
	From, To int64
	// Version of the sequence after the reservation. Each reservation of a sequence
	// has a greater one than those before it.
	Version int64
}

// Sequence is the state of a sequence.
type Sequence struct {
	Value   int64 // the last number that was reserved, or the start
	Version int64 // grows with each change, from 1
}

// Kind is the kind of a document: its use.
type Kind string

// Kinds. Names have at most 32 small letters.
const (
	Configs  Kind = "config" // of IDs, by key
	Tokens   Kind = "token"  // by the key that they are for; see package token
	Workers  Kind = "worker" // that are registered, by instance
	Leases   Kind = "lease"  // of snowflake worker ids, by key
	Replies  Kind = "reply"  // to requests with an idempotency key
	Settings Kind = "setting"
	Periods  Kind = "period" // of the counters of formatted keys that begin anew
)

// Document is a JSON object with a version.
type Document struct {
	// Key has 1 to 255 bytes of UTF-8 without control characters.
	Key string
	// Type is the id_type of a configuration; "" for other kinds.
	Type string
	// Value is a JSON object of at most [MaxValue] bytes. A store may change its
	// white space and the order of its members.
	Value []byte
	// Version grows with each change, also over a deletion; at least 1.
	Version int64
	// Expires is when the store may remove the document, by its own clock or the writer's;
	// zero: never. Callers check it: a store may return a document for longer.
	Expires time.Time

	Created, Updated time.Time // by the clock of the store or of the writer
}

// MaxValue is the size of the largest value of a document, in bytes.
const MaxValue = 1 << 20

// ListOptions choose documents.
type ListOptions struct {
	Prefix string // of the key
	After  string // only keys greater than this one, if it is not empty
	Limit  int    // at most so many; 0: [MaxDocuments]
}

// Validate reports what is wrong with a kind.
func (k Kind) Validate() error {
	small := func(r rune) rune {
		if r < 'a' || r > 'z' {
			return r
		}
		return -1
	}
	if k == "" || len(k) > 32 || len(bytes.Map(small, []byte(k))) > 0 {
		return fmt.Errorf("store: %q is not a kind of documents: a kind has 1 to 32 small letters", string(k))
	}
	return nil
}

// Validate reports the faults of a document that is to be stored: of its key, type,
// value or version.
func (d Document) Validate() error {
	if err := CheckName(d.Key); err != nil {
		return err
	}
	switch {
	case len(d.Type) > 50:
		return fmt.Errorf("store: the type of the document %q has %d bytes, allowed are 50", d.Key, len(d.Type))
	case len(d.Value) > MaxValue:
		return fmt.Errorf("store: the value of the document %q has %d bytes, allowed are %d", d.Key, len(d.Value), MaxValue)
	case !json.Valid(d.Value) || bytes.TrimLeft(d.Value, " \t\r\n")[0] != '{':
		return fmt.Errorf("store: the value of the document %q is not a JSON object", d.Key)
	case d.Version < 0:
		return fmt.Errorf("store: the document %q has the version %d; versions begin at 1, and 0 stands for a new document", d.Key, d.Version)
	}
	return nil
}

// Most returns the largest number of documents in a list.
func (o ListOptions) Most() int {
	if o.Limit <= 0 {
		return MaxDocuments
	}
	return o.Limit
}

// Advance returns the value to which a reservation moves a sequence with the value from:
// by r.Count steps, or fewer if r.Bound is near; [ErrExhausted] if not even one fits.
// It does not overflow.
func (r Reservation) Advance(from int64) (to int64, err error) {
	room := uint64(r.Bound) - uint64(from) // exact in two's complement if from is before the bound
	step := uint64(r.Step)
	before := from < r.Bound
	if r.Step < 0 {
		room, step, before = uint64(from)-uint64(r.Bound), -step, from > r.Bound
	}
	steps := min(room/step, uint64(r.Count))
	if !before || steps == 0 {
		return from, ErrExhausted
	}
	return int64(uint64(from) + steps*uint64(r.Step)), nil
}

// Validate reports what is wrong with a reservation.
func (r Reservation) Validate() error {
	if r.Step == 0 || r.Count < 1 {
		return fmt.Errorf("store: a reservation of %d numbers with the step %d: there must be 1 or more, and a step that is not 0", r.Count, r.Step)
	}
	return nil
}

// MaxDocuments is the limit of a list that sets none.
const MaxDocuments = 1000

// Steps returns the number of numbers in a range.
func (r Range) Steps(step int64) int64 {
	if step < 0 {
		return int64((uint64(r.From) - uint64(r.To)) / -uint64(step))
	}
	return int64((uint64(r.To) - uint64(r.From)) / uint64(step))
}

var (
	// ErrNotFound says that there is no such document or sequence.
	ErrNotFound = errors.New("store: not found")
	// ErrConflict says that another caller has changed the document or sequence since.
	ErrConflict = errors.New("store: changed by another caller since it was read")
	// ErrExhausted says that the sequence has no further number within its bound.
	ErrExhausted = errors.New("store: the sequence is exhausted")
	// ErrReadOnly says that the store can be read, but not written.
	ErrReadOnly = errors.New("store: read-only")
	// ErrLost says that the store has lost, or may have lost, reservations that it made, so
	// that it could make them again. It makes none until an operator confirms. A store that
	// returns it has a method Confirm(ctx context.Context, skip int64) error, which ends the refusal,
	// and moves each sequence ahead by skip of its steps: at least the number of reserved ones
	// that can be lost.
	ErrLost = errors.New("store: it has, or may have, lost data; it gives no numbers until an operator confirms")
	// ErrNoSchema says that nothing is stored there. [Store.Init] creates the schema of a
	// new store.
	ErrNoSchema = errors.New("store: there is no schema; initialise the store, or check that it is the right one")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("store: closed")
)

// ErrNewer says that a newer version of this program wrote what the store holds. Nothing is
// damaged, and nothing was changed: run that version. It is lease.ErrNewer.
var ErrNewer = newer.Err

// NewerSchema returns the [ErrNewer] of a store that has the schema of a newer version of this program:
// the version found, and the newest one that this program knows.
func NewerSchema(found, supported int) error {
	return fmt.Errorf("store: %w: the schema has version %d, this program knows versions up to %d; run that version or a later one", ErrNewer, found, supported)
}

// IsUnreadable reports whether an error says of what is stored that it cannot be read: a [*CorruptError]
// or an [ErrNewer]. A list can go on with the next document.
func IsUnreadable(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt) || errors.Is(err, ErrNewer)
}

// CorruptError says that stored data cannot be used: it is not as the store wrote it, or, if
// the error is an [ErrNewer], a newer version wrote it.
type CorruptError struct {
	Where  string // the file or key
	Reason string
	Err    error // may be nil
}

// Error implements error.
func (e *CorruptError) Error() string {
	if errors.Is(e.Err, ErrNewer) {
		return fmt.Sprintf("store: %s: %v", e.Where, e.Err)
	}
	text := fmt.Sprintf("store: %s: %s", e.Where, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// CheckName returns an error if a text cannot be the name of a sequence or the key of
// a document.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("store: the name is empty")
	case len(name) > 255:
		return fmt.Errorf("store: the name has %d bytes, allowed are 255", len(name))
	case !utf8.ValidString(name):
		return fmt.Errorf("store: the name %q is not UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("store: the name %q has a control character", name)
	}
	return nil
}
