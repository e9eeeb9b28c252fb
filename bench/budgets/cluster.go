// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package budgets

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/records/fdbpeer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/persistable"
)

// clusterLeast is the budget compared with code written by hand: at most 1.15 times the time.
const clusterLeast = 1 / 1.15

// Cluster compares kv/fdbkv with the official binding, and the generated store with one that
// is written by hand over that binding. They write into directories of
// their own, which they remove.
func Cluster(clusterFile string) measure.Stage {
	return measure.Stage{Name: "cluster", Open: func(string) (*measure.Set, error) {
		set := &measure.Set{}
		peers, err := openClusterPeers(clusterFile)
		closePairs := func() error { return nil }
		set.Close = func() (err error) {
			for _, p := range peers {
				err = errors.Join(err, p.store.Close())
			}
			return errors.Join(err, closePairs())
		}
		if err != nil {
			return nil, errors.Join(err, set.Close())
		}
		pairs, closeAll, err := openClusterPairs(clusterFile)
		if err != nil {
			return nil, errors.Join(err, set.Close())
		}
		set.Contests, closePairs = pairs, closeAll
		for _, n := range []int{1, 64} {
			writers := peers[:2]
			for _, c := range []measure.Contest{
				recordContest("get", "get by id", n, peers, clusterLeast, (*peer).get),
				recordContest("unique", "get by a unique field", n, peers, clusterLeast, (*peer).unique),
				recordContest("list", "100 records in the order of an index", n, peers, clusterLeast, (*peer).list),
				recordContest("slice", "all 100 records of a group, as a slice", n, peers, clusterLeast, (*peer).wholeCategory),
				recordContest("scan", "page of 100 records in the order of ids", n, peers, clusterLeast, (*peer).scanPage),
				recordContest("create", "create with a unique, a compound and a count index", n, writers, clusterLeast, (*peer).create),
			} {
				c.Name = "cluster-" + c.Name
				set.Contests = append(set.Contests, c)
			}
		}
		return set, nil
	}}
}

func openClusterPeers(clusterFile string) (peers []*peer, err error) {
	engine, err := fdbkv.Open(clusterFile)
	if err != nil {
		return nil, err
	}
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, path := range [][]string{{"users"}, {"bench", "by hand"}, {"bench", "pairs"}} {
		if err := db.RemoveDirectory(ctx, path...); err != nil && !errors.Is(err, persistable.ErrNotFound) {
			return nil, errors.Join(err, engine.Close())
		}
	}
	ours, err := records.Open(ctx, engine)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	byHand, err := fdbpeer.Open(clusterFile, []string{"bench", "by hand"})
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	for _, p := range []*peer{{name: "Kazahana", store: ours}, {name: "by hand, official binding", store: byHand}} {
		if _, err := p.loadUsers(); err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	weak, err := openWeakPeer(clusterFile, peers[0])
	return append(peers, weak), err
}

// openWeakPeer returns a client of its own that reads weakly what the first peer has loaded.
func openWeakPeer(clusterFile string, of *peer) (*peer, error) {
	engine, err := fdbkv.Open(clusterFile, fdbkv.Options{Transactions: kv.TransactionOptions{MaxStaleness: 2 * time.Second}})
	if err != nil {
		return nil, err
	}
	store, err := records.Open(ctx, engine)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return &peer{name: of.name, form: "weak reads", store: store, ids: of.ids}, nil
}
