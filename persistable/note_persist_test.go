// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// Note has versions, and a field for them.
type Note struct {
	ID      int64
	Text    string
	Version persistable.Version
}

type NoteStore struct {
	persistable.Store[*Note, int64]
}

func (s *NoteStore) SaveIfVersion(ctx context.Context, version persistable.Version, v *Note) error {
	return s.Feed().SaveIfVersion(ctx, version, v)
}

// Feed returns the changes of the records in this directory.
func (s *NoteStore) Feed() *persistable.Feed[*Note, int64] { return persistable.FeedOf(&s.Store) }

func NoteStoreOf(db *persistable.DB) *NoteStore {
	return &NoteStore{persistimpl.NewStore[*Note, int64](db, noteSchema)}
}

func (s *NoteStore) In(tx persistable.Tx) *NoteStore { return &NoteStore{s.Store.In(tx)} }

func (s *NoteStore) ByText(text string) *persistable.Query[*Note] {
	return persistimpl.Query(&s.Store, 0, persistimpl.AppendString(nil, text))
}

var noteSchema = noteSchemaWith(true)

// noteSchemaWith returns the schema, or that of a program before it had versions.
func noteSchemaWith(versions bool) *persistimpl.Schema {
	s := &persistimpl.Schema{
		Type:      "Note",
		Directory: []persistimpl.PathElement{{Name: "notes"}},
		Lock: `type Note
	origin example.com/shop
	id int
	directory "notes"
	field 1 ID int64
	field 2 Text string
`,
		IDs:     &persistimpl.IDs[int64]{IsZero: persistimpl.IsZero[int64], Append: persistimpl.AppendInt[int64], Parse: persistimpl.ReadInt[int64]},
		ID:      func(v any) any { return &v.(*Note).ID },
		Encode:  encodeNote,
		Decode:  decodeNote,
		Known:   &wire.FieldSet{Numbers: []int32{1, 2}},
		Indexes: []index.Definition{{Name: "Note_Text", Fields: []string{"Text"}, Signature: "string"}},
		Entries: func(i int, e *index.Entries, record any) {
			k := e.Begin()
			if i == 0 {
				k = persistimpl.AppendString(k, record.(*Note).Text)
			}
			e.End(k)
		},
	}
	if versions {
		s.Version = func(record any) *[12]byte { return (*[12]byte)(&record.(*Note).Version) }
		s.Indexes = append(s.Indexes, index.Definition{Name: "Note_version", Kind: index.Version})
	}
	return s
}

func encodeNote(b []byte, record any) ([]byte, error) {
	v := record.(*Note)
	b = wire.AppendZigzag(append(b, 0x08), v.ID)
	return wire.AppendString(append(b, 0x12), v.Text), nil
}

func decodeNote(b []byte, s *wire.Strings) (any, error) {
	v := new(Note)
	r := s.NewReader(b)
	for r.Next() {
		switch r.Field() {
		case 1:
			v.ID = r.Int(64)
		case 2:
			v.Text = r.String()
		default:
			r.Skip()
		}
	}
	return v, r.Err()
}
