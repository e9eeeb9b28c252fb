// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

const _ = persistimpl.Version2

func NewOrder(literal Order) *Order {
	persistimpl.SetID(&orderSchema, &literal)
	return &literal
}

type OrderStore struct {
	persistable.Store[*Order, idgen.ID]
}

func OrderStoreOf(db *persistable.DB, tenantID string) *OrderStore {
	return &OrderStore{persistimpl.NewStore[*Order, idgen.ID](db, &orderSchema, tenantID)}
}

func (s *OrderStore) In(tx persistable.Tx) *OrderStore { return &OrderStore{s.Store.In(tx)} }

func (s *OrderStore) New(literal Order) *Order {
	persistimpl.FillArgs(&s.Store, &orderSchema, &literal)
	return NewOrder(literal)
}

func (s *OrderStore) ByNumber(ctx context.Context, number string) (*Order, error) {
	return persistimpl.Unique(ctx, &s.Store, 0, index.AppendString(nil, number))
}

func (s *OrderStore) OrderedByNumber() *persistable.RangeQuery[*Order, string] {
	return persistimpl.Range(&s.Store, 0, nil, index.AppendString[string])
}

func (s *OrderStore) ByStatus(status OrderStatus) *persistable.Query[*Order] {
	return persistimpl.Query(&s.Store, 1, index.AppendInt(nil, status))
}

func (s *OrderStore) OrderedByStatus() *persistable.RangeQuery[*Order, OrderStatus] {
	return persistimpl.Range(&s.Store, 1, nil, index.AppendInt[OrderStatus])
}

func (s *OrderStore) ByStatusCreatedAt(status OrderStatus) *persistable.RangeQuery[*Order, time.Time] {
	return persistimpl.Range(&s.Store, 2, index.AppendInt(nil, status), index.AppendTime)
}

func (s *OrderStore) OrderedByStatusCreatedAt() *persistable.RangeQuery[*Order, OrderStatus] {
	return persistimpl.Range(&s.Store, 2, nil, index.AppendInt[OrderStatus])
}

var OrderFields = struct {
	Number    persistable.Field[*Order, string]
	Status    persistable.Field[*Order, OrderStatus]
	CreatedAt persistable.Field[*Order, time.Time]
}{
	Number:    persistimpl.Field[*Order]("Number", index.AppendString[string]),
	Status:    persistimpl.Field[*Order]("Status", index.AppendInt[OrderStatus]),
	CreatedAt: persistimpl.Field[*Order]("CreatedAt", index.AppendTime),
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
	Decode: func(b []byte) (any, error) {
		v := new(Order)
		return v, decodeOrder(b, v)
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
			e.End(index.AppendString(e.Begin(), v.Number))
		case 1:
			e.End(index.AppendInt(e.Begin(), v.Status))
		case 2:
			k := e.Begin()
			k = index.AppendInt(k, v.Status)
			k = index.AppendTime(k, v.CreatedAt)
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

func decodeOrder(b []byte, v *Order) error {
	r := wire.NewReader(b)
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

func NewArticle(literal Article) *Article {
	persistimpl.SetID(&articleSchema, &literal)
	return &literal
}

type ArticleStore struct {
	persistable.Store[*Article, string]
}

func ArticleStoreOf(db *persistable.DB) *ArticleStore {
	return &ArticleStore{persistimpl.NewStore[*Article, string](db, &articleSchema)}
}

func (s *ArticleStore) In(tx persistable.Tx) *ArticleStore { return &ArticleStore{s.Store.In(tx)} }

func (s *ArticleStore) BySectionSlug(ctx context.Context, section, slug string) (*Article, error) {
	k := index.AppendString(nil, section)
	k = index.AppendString(k, slug)
	return persistimpl.Unique(ctx, &s.Store, 0, k)
}

func (s *ArticleStore) BySectionThenSlug(section string) *persistable.RangeQuery[*Article, string] {
	return persistimpl.Range(&s.Store, 0, index.AppendString(nil, section), index.AppendString[string])
}

func (s *ArticleStore) OrderedBySectionSlug() *persistable.RangeQuery[*Article, string] {
	return persistimpl.Range(&s.Store, 0, nil, index.AppendString[string])
}

func (s *ArticleStore) BySectionPublished(section string) *persistable.RangeQuery[*Article, time.Time] {
	return persistimpl.Range(&s.Store, 1, index.AppendString(nil, section), index.AppendTime)
}

func (s *ArticleStore) ByISBN(ctx context.Context, isbn *string) (*Article, error) {
	return persistimpl.Unique(ctx, &s.Store, 2, index.AppendNullable(nil, isbn, index.AppendString[string]))
}

func (s *ArticleStore) ByEditor(editor *string) *persistable.Query[*Article] {
	return persistimpl.Query(&s.Store, 3, index.AppendNullable(nil, editor, index.AppendString[string]))
}

func (s *ArticleStore) OrderedByEditor() *persistable.RangeQuery[*Article, *string] {
	return persistimpl.Range(&s.Store, 3, nil, index.Nullable(index.AppendString[string]))
}

func (s *ArticleStore) ByTags(tag string) *persistable.Query[*Article] {
	return persistimpl.Query(&s.Store, 4, index.AppendString(nil, tag))
}

func (s *ArticleStore) OrderedByTags() *persistable.RangeQuery[*Article, string] {
	return persistimpl.Range(&s.Store, 4, nil, index.AppendString[string])
}

func (s *ArticleStore) OrderedByPublished() *persistable.RangeQuery[*Article, time.Time] {
	return persistimpl.Range(&s.Store, 5, nil, index.AppendTime)
}

var ArticleFields = struct {
	Section   persistable.Field[*Article, string]
	Slug      persistable.Field[*Article, string]
	Published persistable.Field[*Article, time.Time]
	ISBN      persistable.Field[*Article, *string]
	Editor    persistable.Field[*Article, *string]
	Tags      persistable.Field[*Article, string]
}{
	Section:   persistimpl.Field[*Article]("Section", index.AppendString[string]),
	Slug:      persistimpl.Field[*Article]("Slug", index.AppendString[string]),
	Published: persistimpl.Field[*Article]("Published", index.AppendTime),
	ISBN:      persistimpl.Field[*Article]("ISBN", index.Nullable(index.AppendString[string])),
	Editor:    persistimpl.Field[*Article]("Editor", index.Nullable(index.AppendString[string])),
	Tags:      persistimpl.Field[*Article]("Tags", index.AppendString[string]),
}

var articleSchema = persistimpl.Schema{
	Type:      "Article",
	Directory: []persistimpl.PathElement{{Name: "articles"}},
	Lock: `type Article
	origin example.com/shop
	id string
	directory "articles"
	field 1 ID string
	field 2 Section string
	field 3 Slug string
	field 4 ISBN *string
	field 5 Editor *string
	field 6 Tags []string
	field 7 Published time
	field 8 Body bytes
`,
	IDs:    persistimpl.ULIDStrings,
	ID:     func(v any) any { return &v.(*Article).ID },
	Encode: func(b []byte, v any) ([]byte, error) { return appendArticle(b, v.(*Article)) },
	Decode: func(b []byte) (any, error) {
		v := new(Article)
		return v, decodeArticle(b, v)
	},
	Known: &articleKnown,
	Indexes: []index.Definition{
		{Name: "Article_Section_Slug", Fields: []string{"Section", "Slug"}, Unique: true, Signature: "string,string"},
		{Name: "Article_Section_Published", Fields: []string{"Section", "Published"}, Cover: true, Signature: "string,time"},
		{Name: "Article_ISBN", Fields: []string{"ISBN"}, Unique: true, Cover: true, Sparse: []string{"ISBN"}, Signature: "string?"},
		{Name: "Article_Editor", Fields: []string{"Editor"}, Signature: "string?"},
		{Name: "Article_Tags", Fields: []string{"Tags"}, Sparse: []string{"Tags"}, Signature: "[]string"},
		{Name: "Article_Published", Fields: []string{"Published"}, Signature: "time"},
	},
	Entries: func(i int, e *index.Entries, record any) {
		v := record.(*Article)
		switch i {
		case 0:
			k := e.Begin()
			k = index.AppendString(k, v.Section)
			k = index.AppendString(k, v.Slug)
			e.End(k)
		case 1:
			k := e.Begin()
			k = index.AppendString(k, v.Section)
			k = index.AppendTime(k, v.Published)
			e.End(k)
		case 2:
			if v.ISBN == nil {
				return
			}
			e.End(index.AppendString(e.Begin(), *v.ISBN))
		case 3:
			e.End(index.AppendNullable(e.Begin(), v.Editor, index.AppendString[string]))
		case 4:
			for i := range v.Tags {
				e.End(index.AppendString(e.Begin(), v.Tags[i]))
			}
		case 5:
			e.End(index.AppendTime(e.Begin(), v.Published))
		}
	},
}

var articleKnown = wire.FieldSet{Numbers: []int32{1, 2, 3, 4, 5, 6, 7, 8}}

func appendArticle(b []byte, v *Article) ([]byte, error) {
	if v.ID != "" {
		b = append(b, 0x0a)
		b = wire.AppendString(b, v.ID)
	}
	if v.Section != "" {
		b = append(b, 0x12)
		b = wire.AppendString(b, v.Section)
	}
	if v.Slug != "" {
		b = append(b, 0x1a)
		b = wire.AppendString(b, v.Slug)
	}
	if v.ISBN != nil {
		b = append(b, 0x22)
		b = wire.AppendString(b, *v.ISBN)
	}
	if v.Editor != nil {
		b = append(b, 0x2a)
		b = wire.AppendString(b, *v.Editor)
	}
	for _, tag := range v.Tags {
		b = append(b, 0x32)
		b = wire.AppendString(b, tag)
	}
	if !v.Published.IsZero() {
		b = append(b, 0x3a)
		b = wire.AppendTimestamp(b, v.Published)
	}
	if len(v.Body) > 0 {
		b = append(b, 0x42)
		b = wire.AppendBytes(b, v.Body)
	}
	return b, nil
}

func decodeArticle(b []byte, v *Article) error {
	r := wire.NewReader(b)
	for r.Next() {
		switch r.Field() {
		case 1:
			v.ID = r.String()
		case 2:
			v.Section = r.String()
		case 3:
			v.Slug = r.String()
		case 4:
			s := r.String()
			v.ISBN = &s
		case 5:
			s := r.String()
			v.Editor = &s
		case 6:
			v.Tags = append(v.Tags, r.String())
		case 7:
			v.Published = r.Timestamp()
		case 8:
			v.Body = r.Bytes()
		default:
			r.Skip()
		}
	}
	return r.Err()
}

type ArtStore struct {
	persistable.Store[*Art, int32]
}

func ArtStoreOf(db *persistable.DB) *ArtStore {
	return &ArtStore{persistimpl.NewStore[*Art, int32](db, &artSchema)}
}

func (s *ArtStore) In(tx persistable.Tx) *ArtStore { return &ArtStore{s.Store.In(tx)} }

func (s *ArtStore) ByName(name string) *persistable.Query[*Art] {
	return persistimpl.Query(&s.Store, 0, index.AppendString(nil, name))
}

func (s *ArtStore) OrderedByName() *persistable.RangeQuery[*Art, string] {
	return persistimpl.Range(&s.Store, 0, nil, index.AppendString[string])
}

var artSchema = persistimpl.Schema{
	Type:      "Art",
	Directory: []persistimpl.PathElement{{Name: "articles"}},
	Lock: `type Art
	origin example.com/shop
	id int
	directory "articles"
	field 1 ID int32
	field 2 Name string
`,
	IDs: &persistimpl.IDs[int32]{IsZero: persistimpl.IsZero[int32], Append: index.AppendInt[int32], Parse: index.ReadInt[int32]},
	ID:  func(v any) any { return &v.(*Art).ID },
	Encode: func(b []byte, record any) ([]byte, error) {
		v := record.(*Art)
		b = wire.AppendZigzag(append(b, 0x08), int64(v.ID))
		return wire.AppendString(append(b, 0x12), v.Name), nil
	},
	Decode: func(b []byte) (any, error) {
		v := new(Art)
		r := wire.NewReader(b)
		for r.Next() {
			switch r.Field() {
			case 1:
				v.ID = int32(r.Int(32))
			case 2:
				v.Name = r.String()
			default:
				r.Skip()
			}
		}
		return v, r.Err()
	},
	Known: &wire.FieldSet{Numbers: []int32{1, 2}},
	Indexes: []index.Definition{
		{Name: "Art_Name", Fields: []string{"Name"}, Signature: "string"},
	},
	Entries: func(i int, e *index.Entries, record any) {
		v := record.(*Art)
		switch i {
		case 0:
			e.End(index.AppendString(e.Begin(), v.Name))
		}
	},
}
