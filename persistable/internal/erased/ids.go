// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"context"
	"fmt"
)

// IDKind is a way to make, recognize and pack ids: an *IDs of their type. Its
// methods take a pointer to an id.
type IDKind interface {
	append(b []byte, id any) []byte
	isZero(id any) bool
	fault(id any) string

	// Made reports whether ids are made at all.
	Made() bool
	// Make makes an id and sets it.
	Make(ctx context.Context, id any) error
	// Read returns the id in a whole tuple element.
	Read(element []byte) (id any, err error)
}

// IDs are the functions for ids of type ID.
type IDs[ID any] struct {
	// New makes an id; nil where the user assigns them.
	New func(ctx context.Context) (ID, error)
	// IsZero tells whether the id was not set; nil where every value is an id.
	IsZero func(id ID) bool
	// Fault says why an id that was set cannot be one, or ""; nil where each can.
	Fault func(id ID) string
	// Append and Parse convert an id to and from a tuple element.
	Append func(b []byte, id ID) []byte
	Parse  func(b []byte) (id ID, rest []byte, err error)
}

func (k *IDs[ID]) append(b []byte, id any) []byte { return k.Append(b, *id.(*ID)) }

func (k *IDs[ID]) isZero(id any) bool { return k.IsZero != nil && k.IsZero(*id.(*ID)) }

func (k *IDs[ID]) fault(id any) string {
	if k.Fault == nil {
		return ""
	}
	return k.Fault(*id.(*ID))
}

// Made implements [IDKind].
func (k *IDs[ID]) Made() bool { return k.New != nil }

// Make implements [IDKind].
func (k *IDs[ID]) Make(ctx context.Context, id any) error {
	made, err := k.New(ctx)
	if err == nil {
		*id.(*ID) = made
	}
	return err
}

// Read implements [IDKind].
func (k *IDs[ID]) Read(element []byte) (any, error) {
	id, rest, err := k.Parse(element)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the id", len(rest))
	}
	return id, err
}

// NegativeFault is [IDs].Fault of kazahana ids: their text forms take no negative ones.
func NegativeFault[ID ~int64](id ID) string {
	if id < 0 {
		return fmt.Sprintf("it is %d: a kazahana id is never negative", int64(id))
	}
	return ""
}
