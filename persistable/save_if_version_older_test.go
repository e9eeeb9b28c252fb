// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// newerNotes returns the notes of a program that has added a field, which it writes with
// that value.
func newerNotes(db *persistable.DB, value string) *NoteStore {
	schema := noteSchemaWith(true)
	schema.Lock = strings.Replace(schema.Lock, "\tfield 2 Text string\n", "\tfield 2 Text string\n\tfield 3 Author string\n", 1)
	schema.Known = &wire.FieldSet{Numbers: []int32{1, 2, 3}}
	schema.Encode = func(b []byte, record any) ([]byte, error) {
		b, err := encodeNote(b, record)
		return wire.AppendString(append(b, 0x1a), value), err
	}
	return &NoteStore{persistimpl.NewStore[*Note, int64](db, schema)}
}

// TestSaveIfVersionOfAnOlderProgram lets a program save notes that have a field which it
// does not know, and loses the acknowledgement: it recognizes its own write, and takes no
// other program's for its own.
func TestSaveIfVersionOfAnOlderProgram(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	newer, old := newerNotes(db, "ann"), NoteStoreOf(db)
	check(t, newer.Save(ctx, &Note{ID: 1, Text: "a"}))
	seen := must[*Note](t)(old.Get(ctx, 1))
	engine.begin(nil, fates(lost))
	check(t, old.SaveIfVersion(ctx, seen.Version, &Note{ID: 1, Text: "b"}))
	engine.begin(nil, nil)
	if n := must[*Note](t)(old.Get(ctx, 1)); n.Text != "b" || n.Version == seen.Version {
		t.Errorf("the note is %+v", n)
	}

	seen = must[*Note](t)(old.Get(ctx, 1))
	engine.begin(nil, fates(func(commit func() error) error {
		err := dropped(commit)
		engine.begin(nil, nil)
		check(t, newer.Save(ctx, &Note{ID: 1, Text: "other"}))
		return err
	}))
	if err := old.SaveIfVersion(ctx, seen.Version, &Note{ID: 1, Text: "c"}); !errors.Is(err, persistable.ErrChanged) {
		t.Errorf("over a change of another program: %v", err)
	}
}
