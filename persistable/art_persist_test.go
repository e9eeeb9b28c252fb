// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

type ArtStore struct {
	persistable.Store[*Art, int32]
}

func ArtStoreOf(db *persistable.DB) *ArtStore {
	return &ArtStore{persistimpl.NewStore[*Art, int32](db, &artSchema)}
}

func (s *ArtStore) In(tx persistable.Tx) *ArtStore { return &ArtStore{s.Store.In(tx)} }

func (s *ArtStore) ByName(name string) *persistable.Query[*Art] {
	return persistimpl.Query(&s.Store, 0, persistimpl.AppendString(nil, name))
}

func (s *ArtStore) OrderedByName() *persistable.RangeQuery[*Art, string] {
	return (*persistable.RangeQuery[*Art, string])(persistimpl.Range(persistimpl.Source(&s.Store), 0, nil, persistimpl.AppendString[string]))
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
	IDs: &persistimpl.IDs[int32]{IsZero: persistimpl.IsZero[int32], Append: persistimpl.AppendInt[int32], Parse: persistimpl.ReadInt[int32]},
	ID:  func(v any) any { return &v.(*Art).ID },
	Encode: func(b []byte, record any) ([]byte, error) {
		v := record.(*Art)
		b = wire.AppendZigzag(append(b, 0x08), int64(v.ID))
		return wire.AppendString(append(b, 0x12), v.Name), nil
	},
	Decode: func(b []byte, s *wire.Strings) (any, error) {
		v := new(Art)
		r := s.NewReader(b)
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
			e.End(persistimpl.AppendString(e.Begin(), v.Name))
		}
	},
}
