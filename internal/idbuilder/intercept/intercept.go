// SPDX-License-Identifier: Apache-2.0

// Package intercept has a store of which all calls go through one function, which counts them, or lets
// them fail:
//
//	s = intercept.Store{Store: s, Around: func(ctx context.Context, c intercept.Call, call func() error) error {
//		err := call()
//		log.Print(c.Method, err)
//		return err
//	}}
package intercept

import (
	"context"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Call names a call of a store.
type Call struct {
	Method string // "Reserve", "Put", …: the name of the method of [store.Store]
	Kind   store.Kind
	Name   string // of the sequence, or the key of the document
}

// Store is a store of which Around makes each call but Close: by calling call, once at most. The caller gets
// the error of Around, and a result only without one.
type Store struct {
	store.Store
	Around func(ctx context.Context, c Call, call func() error) error
}

func around[T any](ctx context.Context, s Store, c Call, call func() (T, error)) (result T, err error) {
	err = s.Around(ctx, c, func() (err error) {
		result, err = call()
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return result, nil
}

// Init implements [store.Store], as do the other methods.
func (s Store) Init(ctx context.Context) error {
	return s.Around(ctx, Call{Method: "Init"}, func() error { return s.Store.Init(ctx) })
}

func (s Store) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	return around(ctx, s, Call{Method: "Reserve", Name: name}, func() (store.Range, error) { return s.Store.Reserve(ctx, name, r) })
}

func (s Store) Sequence(ctx context.Context, name string) (store.Sequence, error) {
	return around(ctx, s, Call{Method: "Sequence", Name: name}, func() (store.Sequence, error) { return s.Store.Sequence(ctx, name) })
}

func (s Store) SetSequence(ctx context.Context, name string, value, version int64) error {
	return s.Around(ctx, Call{Method: "SetSequence", Name: name}, func() error { return s.Store.SetSequence(ctx, name, value, version) })
}

func (s Store) DeleteSequence(ctx context.Context, name string) (bool, error) {
	return around(ctx, s, Call{Method: "DeleteSequence", Name: name}, func() (bool, error) { return s.Store.DeleteSequence(ctx, name) })
}

func (s Store) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	return around(ctx, s, Call{"Get", kind, key}, func() (store.Document, error) { return s.Store.Get(ctx, kind, key) })
}

func (s Store) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	return around(ctx, s, Call{"Put", kind, d.Key}, func() (int64, error) { return s.Store.Put(ctx, kind, d) })
}

func (s Store) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	return s.Around(ctx, Call{"Delete", kind, key}, func() error { return s.Store.Delete(ctx, kind, key, version) })
}

func (s Store) List(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	return around(ctx, s, Call{Method: "List", Kind: kind}, func() ([]store.Document, error) { return s.Store.List(ctx, kind, o) })
}

func (s Store) Revision(ctx context.Context) (int64, error) {
	return around(ctx, s, Call{Method: "Revision"}, func() (int64, error) { return s.Store.Revision(ctx) })
}

func (s Store) Advance(ctx context.Context) (int64, error) {
	return around(ctx, s, Call{Method: "Advance"}, func() (int64, error) { return s.Store.Advance(ctx) })
}

func (s Store) Ping(ctx context.Context) error {
	return s.Around(ctx, Call{Method: "Ping"}, func() error { return s.Store.Ping(ctx) })
}
