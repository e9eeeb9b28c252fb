// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/cluster"

	"github.com/kazahana-db/kazahana/placement"
)

// systemLabel is the label with the id of a member's actor system, by which
// protoactor-go knows its members. A member that restarts has another one.
const systemLabel = "protoactor.system"

// membersOf returns the members of a topology in protoactor-go's form, and the faults of
// those that have no such form.
func membersOf(t placement.Topology) (cluster.Members, []error) {
	all, faults := make(cluster.Members, 0, len(t.Members)), []error(nil)
	for _, m := range t.Members {
		member, err := memberOf(m)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		all = append(all, member)
	}
	return all, faults
}

func memberOf(m placement.Member) (*cluster.Member, error) {
	host, service, err := net.SplitHostPort(m.Address)
	if err != nil {
		return nil, fmt.Errorf("protoactor: the address of %s: %w", m.Owner, err)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("protoactor: the port of %s at %q: %w", m.Owner, m.Address, err)
	}
	id := m.Labels[systemLabel]
	if id == "" {
		return nil, fmt.Errorf("protoactor: %s has no label %s: it is not a member of a cluster of protoactor-go", m.Owner, systemLabel)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // protoactor-go puts host and port together as they are
	}
	return &cluster.Member{Host: host, Port: int32(port), Id: id, Kinds: m.Kinds}, nil
}

// roster gives the members to protoactor-go.
type roster struct {
	mu     sync.Mutex
	list   *cluster.MemberList // nil without the provider
	latest placement.Topology
}

// updateTopology gives a topology to the list, unless that has a newer one, and returns
// all faults of its members.
func (r *roster) updateTopology(t placement.Topology) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.Version <= r.latest.Version {
		return nil
	}
	r.latest = t
	return r.updateList()
}

// attachList gives the present topology, and later ones, to a list.
func (r *roster) attachList(list *cluster.MemberList) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = list
	return r.updateList()
}

// updateList holds the lock, so that a newer list is never replaced by an older one.
func (r *roster) updateList() []error {
	if r.list == nil || r.latest.Version == 0 {
		return nil
	}
	all, faults := membersOf(r.latest)
	r.list.UpdateClusterTopology(all)
	return faults
}
