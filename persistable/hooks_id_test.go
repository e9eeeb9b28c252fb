// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
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
