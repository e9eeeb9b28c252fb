// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// TestHooksKeepTheID: where the caller names the record, no hook may make it another one.
func TestHooksKeepTheID(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	for id, number := range []string{"zero", "one", "two"} {
		check(t, s.CreateWithID(ctx, idgen.ID(id+1), &Order{TenantID: "t", Number: number}))
	}
	was := must[*Order](t)(s.Get(ctx, 1))
	before := dump(t, db)
	another := func(v any) error { v.(*Order).ID++; return nil }
	for name, hooks := range map[string]persistimpl.Hooks{"BeforeCreate": {BeforeCreate: another}, "BeforeSave": {BeforeSave: another}, "Validate": {Validate: another}} {
		setHooks(t, &orderSchema, hooks)
		changed := *was
		changed.Amount = 99
		verbs := map[string]error{"CreateWithID": s.CreateWithID(ctx, 77, &Order{TenantID: "t", Number: "new"})}
		if name != "BeforeCreate" {
			one, two, three := changed, changed, changed
			verbs["SaveExisting"] = s.SaveExisting(ctx, &one)
			verbs["SaveIfUnchanged"] = s.SaveIfUnchanged(ctx, was, &two)
			verbs["Update"] = s.Update(ctx, three.ID, func(o *Order) error { o.Amount = 99; return nil })
		}
		for verb, err := range verbs {
			if e := wantAs[*persistable.FieldError](t, err); e.Field != "ID" || e.Type != "Order" || !strings.Contains(e.Error(), " Order.ID: ") {
				t.Errorf("%s, %s: %v", name, verb, err)
			}
		}
	}
	if diff := cmp.Diff(before, dump(t, db)); diff != "" {
		t.Errorf("something was written: %s", diff)
	}
	setHooks(t, &artSchema, persistimpl.Hooks{BeforeSave: func(v any) error {
		v.(*Art).ID = int32(len(v.(*Art).Name))
		return nil
	}})
	arts := ArtStoreOf(db)
	check(t, arts.Create(ctx, &Art{Name: "four"}))
	check(t, arts.SaveExisting(ctx, &Art{Name: "four"})) // a hook may set an id that is missing
}

// idVerbs returns the results of the verbs that write a record: of those for a record that has
// an id, and of those that make one if the library makes the ids of the type.
func idVerbs[T, ID any](s *persistable.Store[T, ID], id ID, record func() T) (named, makes map[string]error) {
	one := func(yield func(T, error) bool) { yield(record(), nil) }
	_, _, getOrCreate := s.GetOrCreate(ctx, record())
	_, createFrom := persistable.CreateFrom(ctx, s, one, persistable.BatchOptions{})
	_, saveFrom := persistable.SaveFrom(ctx, s, one, persistable.BatchOptions{})
	_, saveExistingFrom := persistable.SaveExistingFrom(ctx, s, one, persistable.BatchOptions{})
	named = map[string]error{
		"CreateWithID": s.CreateWithID(ctx, id, record()), "SaveExisting": s.SaveExisting(ctx, record()),
		"SaveIfUnchanged": s.SaveIfUnchanged(ctx, record(), record()), "SaveExistingFrom": saveExistingFrom,
	}
	makes = map[string]error{
		"Create": s.Create(ctx, record()), "Save": s.Save(ctx, record()), "GetOrCreate": getOrCreate,
		"CreateMany": s.CreateMany(ctx, []T{record()}, persistable.BatchOptions{}), "SaveMany": s.SaveMany(ctx, []T{record()}, persistable.BatchOptions{}),
		"CreateFrom": createFrom, "SaveFrom": saveFrom,
	}
	return named, makes
}

// TestZeroIDs: an id that is zero or empty counts as none for all verbs.
func TestZeroIDs(t *testing.T) {
	db := open(t, enginetest.Open(t))
	article := func() *Article { return &Article{Published: day0} }
	refused := func(typ string, verbs map[string]error) {
		for verb, err := range verbs {
			if !errors.Is(err, persistable.ErrNoID) {
				t.Errorf("%s, %s: %v", typ, verb, err)
			}
		}
	}
	named, _ := idVerbs(&ArticleStoreOf(db).Store, "", article)
	refused("Article", named)
	named, _ = idVerbs(&OrderStoreOf(db, "t").Store, 0, func() *Order { return &Order{TenantID: "t"} })
	refused("Order", named)
	named, makes := idVerbs(&ArtStoreOf(db).Store, 0, func() *Art { return &Art{Name: "a"} })
	refused("Art", named)
	refused("Art", makes)
	named, makes = idVerbs(&NoteStoreOf(db).Store, 0, func() *Note { return &Note{Text: "a"} })
	refused("Note", named)
	refused("Note", makes)
	refused("Note", map[string]error{"SaveIfVersion": NoteStoreOf(db).SaveIfVersion(ctx, persistable.Version{1}, &Note{Text: "a"})})
	if n := must[int](t)(ArtStoreOf(db).Scan().Count(ctx)); n != 0 {
		t.Errorf("%d records were written", n)
	}
}

// TestNegativeIDs: a kazahana id is not negative, other integers may be.
func TestNegativeIDs(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	named, makes := idVerbs(&orders.Store, -1, func() *Order { return &Order{ID: -1, TenantID: "t"} })
	for _, verbs := range []map[string]error{named, makes} {
		for verb, err := range verbs {
			var fault *persistable.FieldError
			if !errors.As(err, &fault) || fault.Field != "ID" || !strings.Contains(fault.Reason, "it is -1") {
				t.Errorf("%s: %v", verb, err)
			}
		}
	}
	check(t, ArtStoreOf(db).CreateWithID(ctx, -1, &Art{Name: "a"}))
	check(t, ArtStoreOf(db).Update(ctx, -1, func(a *Art) error { a.Name = "b"; return nil }))
}

// TestStoredZeroID: a record that an earlier version stored under zero is read and deleted,
// but not written again.
func TestStoredZeroID(t *testing.T) {
	db := open(t, enginetest.Open(t))
	before := persistimpl.NewStore[*Art, int32](db, &persistimpl.Schema{
		Type: artSchema.Type, Directory: artSchema.Directory, Lock: artSchema.Lock,
		IDs: &persistimpl.IDs[int32]{Append: index.AppendInt[int32], Parse: index.ReadInt[int32]}, ID: artSchema.ID,
		Encode: artSchema.Encode, Decode: artSchema.Decode, Known: artSchema.Known, Indexes: artSchema.Indexes, Entries: artSchema.Entries,
	})
	check(t, before.CreateWithID(ctx, 0, &Art{Name: "a"}))
	s := ArtStoreOf(db)
	stored := must[*Art](t)(s.Get(ctx, 0))
	wantError(t, s.Update(ctx, 0, func(a *Art) error { a.Name = "b"; return nil }), persistable.ErrNoID)
	wantError(t, s.SaveExisting(ctx, stored), persistable.ErrNoID)
	check(t, s.CreateWithID(ctx, 1, &Art{Name: stored.Name}))
	check(t, s.Delete(ctx, 0))
	_, err := s.Get(ctx, 0)
	wantError(t, err, persistable.ErrNotFound)
}
