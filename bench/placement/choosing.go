// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/cluster"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

const (
	candidates = 50
	identities = 100_000
	sets       = 9 // of candidates
)

// choosing chooses one of 50 members for each identity.
var choosing = measure.Stage{Name: "choose", Open: func(string) (*measure.Set, error) {
	ours, err := newOurs(names(0))
	if err != nil {
		return nil, err
	}
	return &measure.Set{Close: func() error { return nil }, Contests: []measure.Contest{{
		Name: "choose-50", About: "the choice of one of 50 members for an identity, by rendezvous hashing", Latency: true, Procs: 1,
		Entrants: []measure.Entrant{chooser("placement, the resolve of a client", ours), chooser("protoactor-go, the hashing alone", newTheirs(names(0)))},
		Note:     distributions,
	}}}, nil
}}

// choose returns the member to which an identity belongs.
type choose func(id string) string

// newOurs chooses by the resolve of a client, which sends no request.
func newOurs(members []string) (choose, error) {
	c, err := core.NewCoordinator(core.Options{Self: placement.Owner{Name: "client", Incarnation: 1}})
	if err != nil {
		return nil, err
	}
	t := placement.Topology{Version: 1}
	for _, name := range members {
		t.Members = append(t.Members, placement.Member{Owner: placement.Owner{Name: name, Incarnation: 1}, Address: address(name), Kinds: []string{kind}})
	}
	now := time.Now()
	_, startErr := c.StartClient(now)
	_, topologyErr := c.UpdateTopology(t, now)
	return func(id string) string {
		out, err := c.Resolve(placement.Key{Kind: kind, ID: id}, now)
		if err != nil {
			return err.Error()
		}
		return out.Resolution.Address
	}, errors.Join(startErr, topologyErr)
}

func newTheirs(members []string) choose {
	list := cluster.Members{}
	for _, name := range members {
		list = append(list, &cluster.Member{Host: name, Port: port, Id: "system-" + name, Kinds: []string{kind}})
	}
	r := cluster.NewRendezvous()
	r.UpdateMembers(list)
	return func(id string) string { return r.GetByClusterIdentity(cluster.NewClusterIdentity(id, kind)) }
}

const (
	kind = "account"
	port = 8080
)

// names returns the hosts of one of many sets of members.
func names(set int) []string {
	all := make([]string, candidates)
	for i := range all {
		all[i] = fmt.Sprintf("10.%d.%d.%d", set, i/7, 10+i%7)
	}
	return all
}

func address(name string) string { return fmt.Sprintf("%s:%d", name, port) }

func identity(i int) string { return fmt.Sprintf("customer-%d", i) }

func chooser(name string, which choose) measure.Entrant {
	ids := make([]string, 1<<12)
	for i := range ids {
		ids[i] = identity(i)
	}
	return measure.Entrant{Name: name, Elastic: true, Op: func(w *measure.Worker) error {
		if found := which(ids[w.N%len(ids)]); !strings.HasSuffix(found, ":8080") {
			return fmt.Errorf("chose %q", found)
		}
		return nil
	}}
}

// distributions describes how evenly members are chosen, for several sets of members.
func distributions() string {
	ours := distribution(func(members []string) choose {
		c, err := newOurs(members)
		if err != nil {
			panic(err) // the first set has shown that there is none
		}
		return c
	})
	return fmt.Sprintf("Of %s identities, the members of a set of %d get these shares of the mean, over %d sets of members: here %s; with protoactor-go %s.",
		measure.Count(identities), candidates, sets, ours, distribution(newTheirs))
}

// distribution describes the smallest and the greatest share of a member of a set, in the
// median of the sets and at worst.
func distribution(of func(members []string) choose) string {
	var least, most []float64
	for set := range sets {
		members := names(set)
		low, high := shares(of(members), members)
		least, most = append(least, low), append(most, high)
	}
	return fmt.Sprintf("%.2f to %.2f in the median, %.2f to %.2f at worst", measure.Median(least), measure.Median(most), slices.Min(least), slices.Max(most))
}

// shares returns the smallest and the greatest share of a member, as times of the mean.
func shares(which choose, members []string) (least, most float64) {
	counts := map[string]int{}
	for i := range identities {
		counts[which(identity(i))]++
	}
	least = math.Inf(1)
	for _, name := range members {
		share := float64(counts[address(name)]) * candidates / identities
		least, most = min(least, share), max(most, share)
	}
	return least, most
}
