// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"context"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// IDs are the functions for ids of type ID.
type IDs[ID any] = erased.IDs[ID]

// The ids that most types have.
var (
	// KazahanaIDs are made by idgen.Default.
	KazahanaIDs = &IDs[idgen.ID]{
		New: NewKazahana, IsZero: IsZero[idgen.ID], Fault: erased.NegativeFault[idgen.ID], Append: index.AppendInt[idgen.ID], Parse: index.ReadInt[idgen.ID],
	}
	// ULIDs are made by idgen's source of ULIDs.
	ULIDs = &IDs[ulid.ULID]{
		New: NewULID, IsZero: IsZero[ulid.ULID], Append: index.AppendUUID[ulid.ULID], Parse: index.ReadUUID[ulid.ULID],
	}
	// ULIDStrings are ULIDs in text form.
	ULIDStrings = &IDs[string]{
		New: NewULIDString[string], IsZero: IsZero[string], Append: index.AppendString[string], Parse: index.ReadString[string],
	}
)

// NewKazahana makes an id of [idgen.Default].
func NewKazahana(ctx context.Context) (idgen.ID, error) { return idgen.Default().Next(ctx) }

var (
	ulids idgen.ULIDSource
	uuids idgen.UUIDSource
)

// NewULID makes a ULID.
func NewULID(ctx context.Context) (ulid.ULID, error) { return ulids.Next(ctx) }

// NewULIDString makes a ULID in text form.
func NewULIDString[S ~string](ctx context.Context) (S, error) {
	id, err := ulids.Next(ctx)
	if err != nil {
		return "", err
	}
	return S(id.String()), nil
}

// NewUUID makes a UUID of version 7. U is any [16]byte type.
func NewUUID[U ~[16]byte](ctx context.Context) (U, error) {
	id, err := uuids.Next(ctx)
	return U(id), err
}

// IsZero reports whether an id is the zero value.
func IsZero[ID comparable](id ID) bool {
	var zero ID
	return id == zero
}
