// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/tuple"
)

// placed makes a database, as three members leave it that are killed at once; the commands of the script use
// it then: placed data.
// alice and grace are active, bob is claimed, carol is a dead member's, dave's activation has ended.
func placed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: placed folder")
	}
	db := createDatabase(ts, args[0])
	ts.Check(place(context.Background(), db))
	killDatabase(ts, db, args[0])
}

func place(ctx context.Context, db kv.Database) error {
	members, err := membership.New(db, membership.Options{})
	if err != nil {
		return err
	}
	home, err := kvstore.New(db, kvstore.Options{Members: members})
	if err != nil {
		return err
	}
	p := placementScript{members: members, home: home}
	one := p.join(ctx, membership.Self{Name: "bank-1", Address: "10.0.0.1:7000", Kinds: []string{"account"}, Labels: map[string]string{"zone": "a"}})
	two := p.join(ctx, membership.Self{Name: "bank-2", Address: "10.0.0.2:7000", Kinds: []string{"account"}})
	three := p.join(ctx, membership.Self{Name: "bank-3", Address: "10.0.0.3:7000", Kinds: []string{"account"}})
	p.join(ctx, membership.Self{Name: "web-1", Address: "10.0.0.9:7000"})
	if p.err != nil {
		return p.err
	}
	p.store(ctx, p.claim(ctx, "alice", one))
	p.store(ctx, p.claim(ctx, "grace", one))
	p.claim(ctx, "bob", two)
	p.claim(ctx, "carol", three)
	p.end(ctx, p.claim(ctx, "dave", one))
	p.join(ctx, membership.Self{Name: "bank-4", Address: "10.0.0.4:7000", Kinds: []string{"account"}})
	return errors.Join(p.err, three.Leave(ctx), two.Drain(ctx))
}

// placementScript fills a database.
type placementScript struct {
	members  *membership.Registry
	home     *kvstore.Store
	requests placement.RequestID
	err      error
}

func (p *placementScript) join(ctx context.Context, self membership.Self) *membership.Member {
	m, err := p.members.Join(ctx, self)
	p.err = errors.Join(p.err, err)
	return m
}

func (p *placementScript) claim(ctx context.Context, id string, m *membership.Member) core.Lease {
	p.requests++
	lease, err := p.home.TryAcquire(ctx, core.TryAcquire{
		RequestID: p.requests, Key: placement.Key{Kind: "account", ID: id}, Owner: m.Member().Owner, Address: m.Member().Address, Topology: 4,
	})
	p.err = errors.Join(p.err, err)
	return lease
}

func (p *placementScript) store(ctx context.Context, l core.Lease) {
	p.err = errors.Join(p.err, p.home.Store(ctx, l, core.ActivationEntry{
		Owner: l.Owner, Epoch: l.Epoch, Topology: 4, ObservedAt: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
	}))
}

func (p *placementScript) end(ctx context.Context, l core.Lease) {
	p.err = errors.Join(p.err, p.home.Remove(ctx, l.Key, l.Owner, l.Epoch))
}

// outdate gives a row a format that a later version of the program might write: outdate DIR members M NAME,
// outdate DIR placement F KIND ID.
func outdate(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, args[0], func(ctx context.Context, db *persistable.DB) error {
		return db.Engine().Transact(ctx, func(tx kv.Transaction) error {
			d, err := db.Layer().Open(ctx, tx, []string{"kazahana", args[1]})
			if err != nil {
				return err
			}
			prefix, err := d.Prefix()
			for _, element := range args[2:] {
				prefix = tuple.AppendString(prefix, element)
			}
			tx.Set(prefix, tuple.AppendInt(nil, 99))
			return err
		})
	})
}
