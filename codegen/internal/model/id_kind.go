// SPDX-License-Identifier: Apache-2.0

package model

// IDKind is how the IDs of a record are made.
type IDKind int

// The ways to make IDs.
const (
	IDAssigned   IDKind = iota // by the user
	IDKazahana                 // idgen.NewID
	IDULID                     // idgen.NewULID
	IDULIDString               // idgen.NewULIDString
	IDUUID                     // idgen.NewUUID
)

// Describe names the ID kind for comments.
func (k IDKind) Describe() string {
	return [...]string{"assigned by the caller", "a kazahana ID", "a ULID", "a ULID in text form", "a UUID of version 7"}[k]
}
