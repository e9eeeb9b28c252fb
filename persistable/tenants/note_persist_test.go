// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

type NoteStore struct {
	persistable.Store[*Note, int64]
}

func NoteStoreOf(db *persistable.DB, room string) *NoteStore {
	return &NoteStore{persistimpl.NewStore[*Note, int64](db, &noteSchema, room)}
}

// IndexedNotesOf is NoteStoreOf by a program with an index over the room.
func IndexedNotesOf(db *persistable.DB, room string) *NoteStore {
	return &NoteStore{persistimpl.NewStore[*Note, int64](db, &indexedSchema, room)}
}

// UniqueNotesOf is NoteStoreOf by a program in which titles are unique.
func UniqueNotesOf(db *persistable.DB, room string) *NoteStore {
	return &NoteStore{persistimpl.NewStore[*Note, int64](db, &uniqueSchema, room)}
}

func (s *NoteStore) In(tx persistable.Tx) *NoteStore { return &NoteStore{s.Store.In(tx)} }

func (s *NoteStore) ByTitle(title string) *persistable.Query[*Note] {
	return persistimpl.Query(&s.Store, 0, persistimpl.AppendString(nil, title))
}

var noteSchema = persistimpl.Schema{
	Type:      "Note",
	Directory: []persistimpl.PathElement{{Name: "rooms"}, {Field: "Room"}, {Name: "notes"}},
	Lock:      noteLock,
	IDs:       noteIDs,
	ID:        func(v any) any { return &v.(*Note).ID },
	CheckArgs: func(record any, args []string) (field, got string, ok bool) {
		v := record.(*Note)
		return "Room", v.Room, v.Room == args[0]
	},
	FillArgs: func(record any, args []string) { persistimpl.FillString(&record.(*Note).Room, args[0]) },
	Encode:   func(b []byte, v any) ([]byte, error) { return appendNote(b, v.(*Note)), nil },
	Decode: func(b []byte, s *wire.Strings) (any, error) {
		v := new(Note)
		return v, decodeNote(b, v, s)
	},
	Known:   &wire.FieldSet{Numbers: []int32{1, 2, 3, 4}},
	Indexes: []index.Definition{{Name: "Note_Title", Fields: []string{"Title"}, Signature: "string", Cover: true}},
	Entries: func(_ int, e *index.Entries, record any) {
		e.End(persistimpl.AppendString(e.Begin(), record.(*Note).Title))
	},
}

var indexedSchema = persistimpl.Schema{
	Type: "Note", Directory: noteSchema.Directory, Lock: noteLock, IDs: noteIDs, ID: noteSchema.ID,
	CheckArgs: noteSchema.CheckArgs, FillArgs: noteSchema.FillArgs, Encode: noteSchema.Encode, Decode: noteSchema.Decode, Known: noteSchema.Known,
	Indexes: []index.Definition{{Name: "Note_Room_Title", Fields: []string{"Room", "Title"}, Signature: "string,string"}},
	Entries: func(_ int, e *index.Entries, record any) {
		v := record.(*Note)
		e.End(persistimpl.AppendString(persistimpl.AppendString(e.Begin(), v.Room), v.Title))
	},
}

var uniqueSchema = persistimpl.Schema{
	Type: "Note", Directory: noteSchema.Directory, Lock: noteLock, IDs: noteIDs, ID: noteSchema.ID,
	CheckArgs: noteSchema.CheckArgs, FillArgs: noteSchema.FillArgs, Encode: noteSchema.Encode, Decode: noteSchema.Decode, Known: noteSchema.Known,
	Indexes: []index.Definition{{Name: "Note_Title", Fields: []string{"Title"}, Signature: "string", Unique: true}},
	Entries: noteSchema.Entries,
}

const noteLock = `type Note
	origin example.com/shop
	id int
	directory "rooms/{Room}/notes"
	field 1 ID int64
	field 2 Room string
	field 3 Title string
	field 4 Body bytes
`

var noteIDs = &persistimpl.IDs[int64]{
	IsZero: func(id int64) bool { return id == 0 },
	Append: func(b []byte, id int64) []byte { return persistimpl.AppendInt(b, id) },
	Parse: func(b []byte) (int64, []byte, error) {
		n, rest, err := tuple.ReadInt(b)
		return n, rest, err
	},
	New: func(context.Context) (int64, error) { return 0, errors.New("the test chooses ids") },
}

func appendNote(b []byte, v *Note) []byte {
	b = wire.AppendZigzag(append(b, 0x08), v.ID)
	b = wire.AppendString(append(b, 0x12), v.Room)
	b = wire.AppendString(append(b, 0x1a), v.Title)
	return wire.AppendBytes(append(b, 0x22), v.Body)
}

func decodeNote(b []byte, v *Note, s *wire.Strings) error {
	r := s.NewReader(b)
	for r.Next() {
		switch r.Field() {
		case 1:
			v.ID = r.Int(64)
		case 2:
			v.Room = r.String()
		case 3:
			v.Title = r.String()
		case 4:
			v.Body = r.Bytes()
		default:
			r.Skip()
		}
	}
	return r.Err()
}
