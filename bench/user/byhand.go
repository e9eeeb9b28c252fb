// SPDX-License-Identifier: Apache-2.0

package user

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kazahana-db/kazahana/idgen"
)

// The field numbers are those of the generated code, so that both write the
// same bytes.
const (
	fieldID        = 1
	fieldEmail     = 2
	fieldName      = 3
	fieldCategory  = 4
	fieldCreatedAt = 5
)

// AppendByHand encodes u with hand-written code over protowire.
func AppendByHand(b []byte, u *User) []byte {
	b = protowire.AppendTag(b, fieldID, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, uint64(u.ID))
	b = protowire.AppendTag(b, fieldEmail, protowire.BytesType)
	b = protowire.AppendString(b, u.Email)
	b = protowire.AppendTag(b, fieldName, protowire.BytesType)
	b = protowire.AppendString(b, u.Name)
	b = protowire.AppendTag(b, fieldCategory, protowire.BytesType)
	b = protowire.AppendString(b, u.Category)
	seconds, nanos := uint64(u.CreatedAt.Unix()), uint64(u.CreatedAt.Nanosecond())
	size := protowire.SizeTag(1) + protowire.SizeVarint(seconds) + protowire.SizeTag(2) + protowire.SizeVarint(nanos)
	b = protowire.AppendTag(b, fieldCreatedAt, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = protowire.AppendTag(b, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, seconds)
	b = protowire.AppendTag(b, 2, protowire.VarintType)
	return protowire.AppendVarint(b, nanos)
}

// DecodeByHand decodes the bytes of AppendByHand.
func DecodeByHand(b []byte, u *User) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		switch num {
		case fieldID:
			v, m := protowire.ConsumeFixed64(b)
			u.ID, n = idgen.ID(v), m
		case fieldEmail:
			u.Email, n = protowire.ConsumeString(b)
		case fieldName:
			u.Name, n = protowire.ConsumeString(b)
		case fieldCategory:
			u.Category, n = protowire.ConsumeString(b)
		case fieldCreatedAt:
			v, m := protowire.ConsumeBytes(b)
			if m >= 0 {
				if err := decodeTimestamp(v, &u.CreatedAt); err != nil {
					return err
				}
			}
			n = m
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w", num, protowire.ParseError(n))
		}
		b = b[n:]
	}
	return nil
}

func decodeTimestamp(b []byte, t *time.Time) error {
	var seconds, nanos uint64
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		switch num {
		case 1:
			seconds, n = protowire.ConsumeVarint(b)
		case 2:
			nanos, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	*t = time.Unix(int64(seconds), int64(nanos)).UTC()
	return nil
}
