// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// addTwin adds an index Counter_Name to the header of the counters, beside that with the
// name Counter_Name_unique in keys, as a program does that has made the index not unique.
func addTwin(t *testing.T, db *persistable.DB) {
	t.Helper()
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		prefix := prefixOf(t, db, "counters")
		found := must[[]headers.Header](t)(headers.Read(ctx, tx, prefix))
		c := must[*format.Catalog](t)(format.DecodeCatalog(found[0].Value))
		for _, ix := range c.Indexes() {
			d := must[index.Definition](t)(index.ParseLayout(ix.KeyName, ix.Layout))
			if d.Name == "Counter_Name" && d.Unique {
				d.Unique = false
				c.SetState(&d, index.Readable)
			}
		}
		tx.Set(append(prefix, headers.Key("Counter")...), must[[]byte](t)(c.Encode()))
		return nil
	}))
}

func prefixOf(t *testing.T, db *persistable.DB, path ...string) []byte {
	t.Helper()
	d, err := db.Layer().Open(ctx, db.Engine(), path)
	check(t, err)
	return must[[]byte](t)(d.Prefix())
}

// TestNamesInKeys: of two indexes of one name, that with the name in keys is dropped, and
// built anew.
func TestNamesInKeys(t *testing.T) {
	for dropped, left := range map[string]string{"Counter_Name": "Counter_Name_unique", "Counter_Name_unique": "Counter_Name"} {
		db := seeded(t)
		addTwin(t, db)
		s := open(t, db, "counters")
		for _, name := range []string{left, dropped} {
			check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
				index.ClearUnknown(tx, prefixOf(t, db, "counters"), name)
				return nil
			}))
			check(t, s.Indexes().Rebuild(ctx, "Counter_Name"))
			check(t, s.Indexes().Rebuild(ctx, "Counter_Name_unique"))
			sound(t, s.Indexes())
		}
		check(t, s.Drop(ctx, dropped))
		var names []string
		for _, ix := range open(t, db, "counters").Schema().Indexes {
			names = append(names, ix.KeyName)
		}
		if len(names) != 1 || names[0] != left {
			t.Errorf("without %s: %q", dropped, names)
		}
	}
}

// TestDropForeignUnique: an index that needs Go code is dropped by its name, too.
func TestDropForeignUnique(t *testing.T) {
	db := seeded(t)
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		prefix := prefixOf(t, db, "counters")
		found := must[[]headers.Header](t)(headers.Read(ctx, tx, prefix))
		c := must[*format.Catalog](t)(format.DecodeCatalog(found[0].Value))
		d := must[index.Definition](t)(index.ParseLayout("Counter_code_unique", "Nowhere:string"))
		c.SetState(&d, index.Readable)
		tx.Set(append(prefix, headers.Key("Counter")...), must[[]byte](t)(c.Encode()))
		return nil
	}))
	check(t, open(t, db, "counters").Drop(ctx, "Counter_code"))
	for _, ix := range open(t, db, "counters").Schema().Indexes {
		if ix.Name == "Counter_code" {
			t.Errorf("there is %s", ix.KeyName)
		}
	}
}
