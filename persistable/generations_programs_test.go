// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/generations/one"
	"github.com/kazahana-db/kazahana/persistable/testdata/generations/three"
	"github.com/kazahana-db/kazahana/persistable/testdata/generations/two"
)

// accountProgram is what the programs of all generations have in common. T is their record.
type accountProgram[T any] struct {
	store *persistable.Store[T, idgen.ID]
	id    func(T) idgen.ID
	fill  func(v T, a account)  // sets the record's fields
	read  func(v T) account     // reads them
	only  func(account) account // leaves out fields that the program does not know
	blank func(id idgen.ID) T
}

func (p *accountProgram[T]) known(a account) account { return p.only(a) }

func (p *accountProgram[T]) create(id idgen.ID, a account) error {
	v := p.blank(id)
	p.fill(v, a)
	return p.store.CreateWithID(ctx, id, v)
}

func (p *accountProgram[T]) update(id idgen.ID, a account) error {
	return p.store.Update(ctx, id, func(v T) error {
		p.fill(v, a)
		return nil
	})
}

func (p *accountProgram[T]) remove(id idgen.ID) error { return p.store.Delete(ctx, id) }

func (p *accountProgram[T]) all() (accounts, error) {
	all := accounts{}
	for v, err := range p.store.Scan().All(ctx) {
		if err != nil {
			return nil, err
		}
		all[p.id(v)] = p.read(v)
	}
	return all, nil
}

func (p *accountProgram[T]) build() error {
	return p.store.Indexes().Build(ctx, persistable.BuildOptions{})
}

func (p *accountProgram[T]) verify(ctx context.Context, o persistable.VerifyOptions) (persistable.Report, error) {
	return p.store.Indexes().Verify(ctx, o)
}

// idsOf returns a function that returns the ids of a query's records.
func (p *accountProgram[T]) idsOf(q *persistable.Query[T]) func() ([]idgen.ID, error) {
	return func() (ids []idgen.ID, err error) {
		all, err := q.Slice(ctx)
		for _, v := range all {
			ids = append(ids, p.id(v))
		}
		return ids, err
	}
}

// oneID returns a function that returns the id of a unique index's record.
func (p *accountProgram[T]) oneID(get func() (T, error)) func() ([]idgen.ID, error) {
	return func() ([]idgen.ID, error) {
		v, err := get()
		switch {
		case errors.Is(err, persistable.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []idgen.ID{p.id(v)}, nil
	}
}

// storedText returns a text as a program without nulls stores it.
func storedText(s *string) *string {
	if s == nil || *s == "" {
		return nil
	}
	return s
}

func valueOf(s *string, zero string) string {
	if s == nil {
		return zero
	}
	return *s
}

func firstGeneration(db *persistable.DB) generation {
	s := one.AccountStoreOf(db)
	return &firstGen{s, accountProgram[*one.Account]{
		&s.Store, func(v *one.Account) idgen.ID { return v.ID },
		func(v *one.Account, a account) {
			v.Email, v.Plan, v.Level, v.Name, v.Note, v.Tags = a.email, a.plan, int32(a.level), valueOf(a.name, ""), a.note, a.tags
		},
		func(v *one.Account) account {
			return account{email: v.Email, plan: v.Plan, level: int64(v.Level), name: storedText(&v.Name), note: v.Note, tags: v.Tags}
		},
		func(a account) account {
			a.name, a.region, a.handle = storedText(a.name), nil, nil
			return a
		},
		func(idgen.ID) *one.Account { return &one.Account{} },
	}}
}

// firstGen is the program of the first generation.
type firstGen struct {
	s *one.AccountStore
	accountProgram[*one.Account]
}

func (p *firstGen) overwrite(a, b account) account {
	b = p.known(b)
	b.region, b.handle = a.region, a.handle
	return b
}

func (p *firstGen) lookups() []lookup {
	return []lookup{
		{"Account_Plan", p.idsOf(p.s.ByPlan("paid")), func(a account) bool { return a.plan == "paid" }},
		{"Account_Tags", p.idsOf(p.s.ByTags("x")), func(a account) bool { return slices.Contains(a.tags, "x") }},
		{"Account_Email", p.oneID(func() (*one.Account, error) { return p.s.ByEmail(ctx, "mail2") }), func(a account) bool { return a.email == "mail2" }},
	}
}

func secondGeneration(db *persistable.DB) generation {
	s := two.AccountStoreOf(db)
	return &secondGen{s, accountProgram[*two.Account]{
		&s.Store, func(v *two.Account) idgen.ID { return v.ID },
		func(v *two.Account, a account) {
			v.Address, v.Plan, v.Level, v.Name, v.Region, v.Tags = a.email, two.Plan(a.plan), a.level, valueOf(a.name, ""), valueOf(a.region, "eu"), a.tags
		},
		func(v *two.Account) account {
			return account{email: v.Address, plan: string(v.Plan), level: v.Level, name: storedText(&v.Name), region: &v.Region, tags: v.Tags}
		},
		func(a account) account {
			a.name, a.note, a.region, a.handle = storedText(a.name), "", cmp.Or(a.region, ptr("eu")), nil
			return a
		},
		func(idgen.ID) *two.Account { return &two.Account{} },
	}}
}

// secondGen is the program of the second generation.
type secondGen struct {
	s *two.AccountStore
	accountProgram[*two.Account]
}

func (p *secondGen) overwrite(a, b account) account {
	b = p.known(b)
	b.note, b.handle = a.note, a.handle
	return b
}

func (p *secondGen) lookups() []lookup {
	region := func(a account) string { return valueOf(a.region, "eu") }
	return []lookup{
		{"Account_Plan", p.idsOf(p.s.ByPlan("paid")), func(a account) bool { return a.plan == "paid" }},
		{"Account_Region_Level", p.idsOf(p.s.ByRegionLevel("eu").From(1).Query()), func(a account) bool { return region(a) == "eu" && a.level >= 1 }},
		{"Account_Email", p.oneID(func() (*two.Account, error) { return p.s.ByAddress(ctx, "mail2") }), func(a account) bool { return a.email == "mail2" }},
	}
}

func thirdGeneration(db *persistable.DB) generation {
	s := three.CustomerStoreOf(db)
	return &thirdGen{s, accountProgram[*three.Customer]{
		&s.Store, func(v *three.Customer) idgen.ID { return v.ID },
		func(v *three.Customer, a account) {
			v.Address, v.Plan, v.Level, v.Name, v.Region, v.Tags, v.Handle = a.email, three.Plan(a.plan), a.level, a.name, valueOf(a.region, "eu"), a.tags, a.handle
		},
		func(v *three.Customer) account {
			return account{email: v.Address, plan: string(v.Plan), level: v.Level, name: v.Name, region: &v.Region, tags: v.Tags, handle: v.Handle}
		},
		func(a account) account {
			a.note, a.region = "", cmp.Or(a.region, ptr("eu"))
			return a
		},
		func(idgen.ID) *three.Customer { return &three.Customer{} },
	}}
}

// thirdGen is the program of the third generation.
type thirdGen struct {
	s *three.CustomerStore
	accountProgram[*three.Customer]
}

func (p *thirdGen) overwrite(a, b account) account {
	b = p.known(b)
	b.note = a.note
	return b
}

func (p *thirdGen) lookups() []lookup {
	region := func(a account) string { return valueOf(a.region, "eu") }
	return []lookup{
		{"Account_Plan_Region", p.idsOf(p.s.ByPlanRegion("paid").From("eu").To("eu").Query()), func(a account) bool { return a.plan == "paid" && region(a) == "eu" }},
		{"Account_Tags", p.idsOf(p.s.ByTags("x")), func(a account) bool { return slices.Contains(a.tags, "x") }},
		{"Account_Email", p.oneID(func() (*three.Customer, error) { return p.s.ByAddress(ctx, "mail2") }), func(a account) bool { return a.email == "mail2" }},
		{"Account_Handle", p.oneID(func() (*three.Customer, error) { return p.s.ByHandle(ctx, ptr("handle3")) }), func(a account) bool { return valueOf(a.handle, "") == "handle3" }},
	}
}
