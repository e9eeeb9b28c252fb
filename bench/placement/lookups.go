// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/cluster"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// lookups finds the actors of identities: those that are active here, those that are active on
// another member, and those that are not active yet.
var lookups = measure.Stage{Name: "lookup", Open: func(string) (*measure.Set, error) {
	db, err := embedded.OpenMemory()
	if err != nil {
		return nil, err
	}
	ours, err := startOurs(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	theirs := startTheirs()
	pairs := []pair{{"placement/protoactor", ours}, {"protoactor-go's disthash", theirs}}
	contests, err := contestsOf(pairs)
	if err == nil {
		var bare measure.Contest
		bare, err = driverContest(pairs[1])
		contests = append([]measure.Contest{bare}, contests...)
	}
	return &measure.Set{Contests: contests, Close: func() error {
		return errors.Join(stopAll(ours), stopAll(theirs), db.Close())
	}}, err
}}

// pair is a cluster under the name of its lookup.
type pair struct {
	name    string
	members []*cluster.Cluster
}

func contestsOf(pairs []pair) ([]measure.Contest, error) {
	here := measure.Contest{Name: "local-1", About: "the lookup of an identity that is active on the same member", Latency: true}
	many := measure.Contest{Name: "local-16", About: "the same from 16 goroutines", Latency: true}
	there := measure.Contest{Name: "remote-1", About: "the lookup of an identity that is active on another member, over loopback", Latency: true}
	cold := measure.Contest{Name: "cold-16", About: "the lookup of an identity that is not active, which activates it: two transactions here, none there; 16 goroutines", Latency: true}
	for i, p := range pairs {
		local, remote, err := activate(p.members)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		least := float64(i) // times the rate of the other
		here.Entrants = append(here.Entrants, getter(p, 1, local, least))
		many.Entrants = append(many.Entrants, getter(p, 16, local, least))
		there.Entrants = append(there.Entrants, getter(p, 1, remote, 0))
		cold.Entrants = append(cold.Entrants, activator(p))
	}
	return []measure.Contest{here, many, there, cold}, nil
}

const active = 1 << 10

// activate activates identities, and returns those that are active on the first member and the
// others.
func activate(members []*cluster.Cluster) (local, remote []*cluster.ClusterIdentity, err error) {
	for i := range active {
		ci := cluster.NewClusterIdentity(identity(i), kind)
		switch pid := members[0].IdentityLookup.Get(ci); {
		case pid == nil:
			return nil, nil, fmt.Errorf("%s is not activated", ci)
		case pid.Address == members[0].ActorSystem.Address():
			local = append(local, ci)
		default:
			remote = append(remote, ci)
		}
	}
	if len(local) < active/4 || len(remote) < active/4 {
		return nil, nil, fmt.Errorf("%d identities are here and %d there", len(local), len(remote))
	}
	return local, remote, nil
}

func getter(p pair, goroutines int, ids []*cluster.ClusterIdentity, least float64) measure.Entrant {
	return measure.Entrant{Name: p.name, Goroutines: goroutines, Elastic: true, Least: least, Op: func(w *measure.Worker) error {
		return get(p, ids[w.N%len(ids)])
	}}
}

func get(p pair, ci *cluster.ClusterIdentity) error {
	if p.members[0].IdentityLookup.Get(ci) == nil {
		return fmt.Errorf("%s was not found", ci)
	}
	return nil
}

func activator(p pair) measure.Entrant {
	var next atomic.Int64
	next.Store(active)
	return measure.Entrant{Name: p.name, Goroutines: 16, Elastic: true, Op: func(*measure.Worker) error {
		return get(p, cluster.NewClusterIdentity(identity(int(next.Add(1))), kind))
	}}
}
