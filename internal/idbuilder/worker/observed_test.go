// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/intercept"
)

// The metric idbuilder_storage_errors_total names each operation of a store in snake case, and counts no normal answer.
func TestOperationNames(t *testing.T) {
	failure := errors.New("the disk is gone")
	var u usage
	s := u.observe(intercept.Store{Around: func(context.Context, intercept.Call, func() error) error { return failure }})
	callAll := func() {
		ctx := t.Context()
		_, reserve := s.Reserve(ctx, "a", store.Reservation{})
		_, sequence := s.Sequence(ctx, "a")
		_, deleteSequence := s.DeleteSequence(ctx, "a")
		_, get := s.Get(ctx, "", "a")
		_, put := s.Put(ctx, "", store.Document{})
		_, list := s.List(ctx, "", store.ListOptions{})
		_, revision := s.Revision(ctx)
		_, advance := s.Advance(ctx)
		errs := []error{
			reserve, sequence, s.SetSequence(ctx, "a", 1, 1), deleteSequence, get, put, s.Delete(ctx, "", "a", 1), list, revision, advance, s.Ping(ctx),
		}
		if slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, failure) }) {
			t.Errorf("the errors are %v, want %v of each", errs, failure)
		}
	}
	callAll()
	for _, failure = range []error{store.ErrNotFound, store.ErrConflict, store.ErrExhausted, context.Canceled} {
		callAll()
	}
	counted := map[string]uint64{}
	for operation, n := range u.errors.Range {
		counted[operation.(string)] = n.(*count).Load()
	}
	want := map[string]uint64{
		"reserve": 1, "sequence": 1, "set_sequence": 1, "delete_sequence": 1, "get": 1, "put": 1, "delete": 1, "list": 1, "revision": 1, "advance": 1, "ping": 1,
	}
	if diff := cmp.Diff(want, counted); diff != "" {
		t.Error(diff)
	}
}
