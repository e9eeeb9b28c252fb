// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// setHooks gives a type hooks for the time of the test.
func setHooks(t *testing.T, schema *persistimpl.Schema, h persistimpl.Hooks) {
	schema.Hooks = h
	t.Cleanup(func() { schema.Hooks = persistimpl.Hooks{} })
}

// noteHooks gives Order hooks that note their calls in the returned list, which fail
// for the number that is the name of the hook.
func noteHooks(t *testing.T) *[]string {
	var calls []string
	note := func(name string) func(any) error {
		return func(v any) error {
			o := v.(*Order)
			calls = append(calls, name)
			switch {
			case o.Number == name:
				return errRefused
			case o.ID == 0:
				t.Errorf("%s was called without an id", name)
			}
			return nil
		}
	}
	setHooks(t, &orderSchema, persistimpl.Hooks{BeforeCreate: note("BeforeCreate"), BeforeSave: note("BeforeSave"), Validate: note("Validate")})
	return &calls
}

var errRefused = errors.New("refused")

// TestHooks checks which hooks each verb calls, in which order, and that retries do
// not call them again, except for Update, whose record is another one then.
func TestHooks(t *testing.T) {
	mem := enginetest.Open(t)
	engine := &faulty{Database: mem}
	s := OrderStoreOf(open(t, engine), "t")
	check(t, s.CreateWithID(ctx, 100, &Order{TenantID: "t", Number: "first"})) // opens the store
	calls := noteHooks(t)
	const creates, saves = "BeforeCreate BeforeSave Validate", "BeforeSave Validate"
	o := &Order{TenantID: "t", Number: "1"}
	for _, verb := range []struct {
		name, want string
		run        func() error
	}{
		{"Create", creates, func() error { return s.Create(ctx, o) }},
		{"CreateWithID", creates, func() error { return s.CreateWithID(ctx, 7, &Order{TenantID: "t", Number: "2"}) }},
		{"Save of a new one", saves, func() error { return s.Save(ctx, &Order{TenantID: "t", Number: "3"}) }},
		{"Save", saves, func() error { o.Amount++; return s.Save(ctx, o) }},
		{"SaveExisting", saves, func() error { o.Amount++; return s.SaveExisting(ctx, o) }},
		{"SaveIfUnchanged", saves, func() error { v := *o; v.Amount++; return s.SaveIfUnchanged(ctx, o, &v) }},
		{"Update", saves + " " + saves, func() error { return s.Update(ctx, o.ID, func(o *Order) error { o.Amount++; return nil }) }},
		{"Get", "", func() error { return second(s.Get(ctx, o.ID)) }},
		{"Delete", "", func() error { return s.Delete(ctx, o.ID) }},
	} {
		*calls = nil
		engine.begin(nil, fates(conflict))
		check(t, verb.run())
		engine.begin(nil, nil)
		if got := strings.Join(*calls, " "); got != verb.want {
			t.Errorf("%s called %q, want %q", verb.name, got, verb.want)
		}
	}
}

// TestHooksRefuse lets each hook refuse each verb that calls it: nothing is written.
func TestHooksRefuse(t *testing.T) {
	db := open(t, faults.HostileT(t, enginetest.Open(t)))
	s := OrderStoreOf(db, "t")
	check(t, s.CreateWithID(ctx, 7, &Order{TenantID: "t", Number: "first"}))
	was := must[*Order](t)(s.Get(ctx, 7))
	before := dump(t, db)
	noteHooks(t)
	for _, hook := range []string{"BeforeCreate", "BeforeSave", "Validate"} {
		refused := &Order{ID: 7, TenantID: "t", Number: hook}
		verbs := map[string]error{
			"Create":       s.Create(ctx, refused),
			"CreateWithID": s.CreateWithID(ctx, 7, refused),
		}
		if hook != "BeforeCreate" {
			verbs["Save"] = s.Save(ctx, refused)
			verbs["SaveExisting"] = s.SaveExisting(ctx, refused)
			verbs["SaveIfUnchanged"] = s.SaveIfUnchanged(ctx, was, refused)
			verbs["Update"] = s.Update(ctx, 7, func(o *Order) error { o.Number = hook; return nil })
		}
		for verb, err := range verbs {
			if !errors.Is(err, persistable.ErrRefused) || !errors.Is(err, errRefused) {
				t.Errorf("%s: %#v", verb, err)
			}
			if want := "persistable: Order (7): " + hook + ": refused"; err.Error() != want {
				t.Errorf("%s: %q, want %q", verb, err, want)
			}
		}
	}
	if diff := cmp.Diff(before, dump(t, db)); diff != "" {
		t.Errorf("something was written: %s", diff)
	}
}

// TestHooksChangeTheRecord sets fields in hooks, indexed ones too, and the id where
// the program assigns it.
func TestHooksChangeTheRecord(t *testing.T) {
	db := open(t, enginetest.Open(t))
	setHooks(t, &orderSchema, persistimpl.Hooks{BeforeSave: func(v any) error {
		v.(*Order).Number = strings.ToLower(v.(*Order).Number)
		return nil
	}})
	orders := OrderStoreOf(db, "t")
	o := orders.New(Order{Number: "ABC"})
	check(t, orders.Create(ctx, o))
	check(t, orders.Update(ctx, o.ID, func(o *Order) error { o.Number = "DEF"; return nil }))
	if got := must[*Order](t)(orders.ByNumber(ctx, "def")); got.ID != o.ID {
		t.Errorf("found %+v", got)
	}
	sound(t, orders.Indexes().Verify)

	setHooks(t, &artSchema, persistimpl.Hooks{BeforeCreate: func(v any) error {
		v.(*Art).ID = int32(len(v.(*Art).Name))
		return nil
	}})
	setHooks(t, &orderSchema, persistimpl.Hooks{BeforeSave: func(v any) error { v.(*Order).ID = 0; return nil }})
	without := &Order{TenantID: "t", Number: "ghi"}
	check(t, orders.Create(ctx, without))
	if without.ID == 0 {
		t.Error("a record without an id was created")
	}
	orderSchema.Hooks = persistimpl.Hooks{}
	arts := ArtStoreOf(db)
	check(t, arts.Create(ctx, &Art{Name: "four"}))
	if got := must[*Art](t)(arts.Get(ctx, 4)); got.Name != "four" {
		t.Errorf("found %+v", got)
	}
	check(t, orders.Update(ctx, o.ID, func(o *Order) error { return nil }))
	setHooks(t, &orderSchema, persistimpl.Hooks{BeforeSave: func(v any) error { v.(*Order).ID++; return nil }})
	err := orders.Update(ctx, o.ID, func(o *Order) error { return nil })
	if e := wantAs[*persistable.FieldError](t, err); e.Field != "ID" {
		t.Errorf("another id: %v", err)
	}
}

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
		IDs: &persistimpl.IDs[int32]{Append: persistimpl.AppendInt[int32], Parse: persistimpl.ReadInt[int32]}, ID: artSchema.ID,
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
