// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

const _ = persistimpl.Version6

type OrderStore struct {
	persistable.Store[*Order, idgen.ID]
}

func OrderStoreOf(db *persistable.DB, tenantID string) *OrderStore {
	return &OrderStore{persistimpl.NewStore[*Order, idgen.ID](db, &orderSchema, tenantID)}
}

func (s *OrderStore) In(tx persistable.Tx) *OrderStore { return &OrderStore{s.Store.In(tx)} }

func (s *OrderStore) New(literal Order) *Order {
	persistimpl.Must(persistimpl.TryNew(&s.Store, &orderSchema, &literal))
	return &literal
}

func (s *OrderStore) ByNumber(ctx context.Context, number string) (*Order, error) {
	return persistimpl.Unique(ctx, &s.Store, 0, persistimpl.AppendString(nil, number))
}

func (s *OrderStore) ByStatus(status OrderStatus) *persistable.Query[*Order] {
	return persistimpl.Query(&s.Store, 1, persistimpl.AppendInt(nil, status))
}

var OrderFields = struct {
	Number    persistable.Field[*Order, string]
	Status    persistable.Field[*Order, OrderStatus]
	CreatedAt persistable.Field[*Order, time.Time]
}{
	Number:    persistable.Field[*Order, string](persistimpl.NewField("Number", persistimpl.AppendString[string])),
	Status:    persistable.Field[*Order, OrderStatus](persistimpl.NewField("Status", persistimpl.AppendInt[OrderStatus])),
	CreatedAt: persistable.Field[*Order, time.Time](persistimpl.NewField("CreatedAt", persistimpl.AppendTime)),
}

var orderSchema = persistimpl.Schema{
	Type:      "Order",
	Directory: []persistimpl.PathElement{{Name: "tenants"}, {Field: "TenantID", Layer: "partition"}, {Name: "orders"}},
	Lock: `type Order
	origin example.com/shop
	id int
	directory "tenants/{TenantID}(partition)/orders"
	field 1 ID id
	field 2 TenantID string
	field 3 Number string
	field 4 Status int64
	field 5 CreatedAt time
	field 6 Amount int64
`,
	IDs: persistimpl.KazahanaIDs,
	ID:  func(v any) any { return &v.(*Order).ID },
	CheckArgs: func(record any, args []string) (field, got string, ok bool) {
		v := record.(*Order)
		if v.TenantID != args[0] {
			return "TenantID", v.TenantID, false
		}
		return "", "", true
	},
	FillArgs: func(record any, args []string) {
		v := record.(*Order)
		persistimpl.FillString(&v.TenantID, args[0])
	},
	Encode: func(b []byte, v any) ([]byte, error) { return appendOrder(b, v.(*Order)) },
	Decode: func(b []byte, s *wire.Strings) (any, error) {
		v := new(Order)
		return v, decodeOrder(b, v, s)
	},
	Known: &orderKnown,
	Indexes: []index.Definition{
		{Name: "Order_Number", Fields: []string{"Number"}, Unique: true, Signature: "string"},
		{Name: "Order_Status", Fields: []string{"Status"}, Signature: "int"},
		{Name: "Order_Status_CreatedAt", Fields: []string{"Status", "CreatedAt"}, Signature: "int,time"},
	},
	Entries: func(i int, e *index.Entries, record any) {
		v := record.(*Order)
		switch i {
		case 0:
			e.End(persistimpl.AppendString(e.Begin(), v.Number))
		case 1:
			e.End(persistimpl.AppendInt(e.Begin(), v.Status))
		case 2:
			k := e.Begin()
			k = persistimpl.AppendInt(k, v.Status)
			k = persistimpl.AppendTime(k, v.CreatedAt)
			e.End(k)
		}
	},
}

var orderKnown = wire.FieldSet{Numbers: []int32{1, 2, 3, 4, 5, 6}}

func appendOrder(b []byte, v *Order) ([]byte, error) {
	if v.ID != 0 {
		b = append(b, 0x09)
		b = wire.AppendFixed64(b, uint64(v.ID))
	}
	if v.TenantID != "" {
		if !wire.ValidString(v.TenantID) {
			return b, &persistable.FieldError{Type: "Order", Field: "TenantID", Reason: "it is not valid UTF-8; a field of bytes is a []byte"}
		}
		b = append(b, 0x12)
		b = wire.AppendString(b, v.TenantID)
	}
	if v.Number != "" {
		if !wire.ValidString(v.Number) {
			return b, &persistable.FieldError{Type: "Order", Field: "Number", Reason: "it is not valid UTF-8; a field of bytes is a []byte"}
		}
		b = append(b, 0x1a)
		b = wire.AppendString(b, v.Number)
	}
	if v.Status != 0 {
		b = append(b, 0x20)
		b = wire.AppendZigzag(b, int64(v.Status))
	}
	if !v.CreatedAt.IsZero() {
		b = append(b, 0x2a)
		b = wire.AppendTimestamp(b, v.CreatedAt)
	}
	if v.Amount != 0 {
		b = append(b, 0x30)
		b = wire.AppendZigzag(b, v.Amount)
	}
	return b, nil
}

func decodeOrder(b []byte, v *Order, s *wire.Strings) error {
	r := s.NewReader(b)
	for r.Next() {
		switch r.Field() {
		case 1:
			v.ID = idgen.ID(r.Fixed64())
		case 2:
			v.TenantID = r.String()
		case 3:
			v.Number = r.String()
		case 4:
			v.Status = OrderStatus(r.Int(64))
		case 5:
			v.CreatedAt = r.Timestamp()
		case 6:
			v.Amount = r.Int(64)
		default:
			r.Skip()
		}
	}
	return r.Err()
}
