// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"
	"slices"
)

// outcome is what a client knows of an attempt to commit.
type outcome int

const (
	committed outcome = iota
	failed            // certainly not committed
	unknown           // perhaps committed
)

// attempt is one transaction of a history: the lists that it read and the keys
// to whose lists it appended its own number.
type attempt struct {
	id           int
	began, ended int // instants of one clock: who ended before another began, came first
	outcome      outcome
	reads        []observation
	appends      []string // keys
}

// observation is a key's list as an attempt saw it, its own element left out.
type observation struct {
	key  string
	list []int
}

// history is what the clients of a database saw: every transaction reads lists
// and appends unique elements to them, so that the order of writes can be read
// off the lists (the idea of Kingsbury and Alvaro, "Elle: Inferring Isolation
// Anomalies from Experimental Observations", VLDB 2020).
type history struct {
	attempts []attempt
	byID     map[int]*attempt
	orders   map[string][]int // the longest list of each key
}

// analyse returns why the history is not strictly serializable, or nothing.
func analyse(attempts []attempt) []string {
	h := &history{attempts: attempts, byID: map[int]*attempt{}, orders: map[string][]int{}}
	for i := range attempts {
		h.byID[attempts[i].id] = &attempts[i]
	}
	faults := h.findOrders()
	faults = append(faults, h.checkElements()...)
	faults = append(faults, h.checkAppends()...)
	if len(faults) > 0 {
		return faults // without orders there is no graph
	}
	if cycle := h.graph().cycle(); cycle != "" {
		return []string{"a cycle: " + cycle}
	}
	return nil
}

// happened reports whether what an attempt saw and did counts.
func (h *history) happened(a *attempt) bool {
	switch a.outcome {
	case committed:
		return true
	case failed:
		return false
	}
	return slices.ContainsFunc(a.appends, func(key string) bool { return slices.Contains(h.orders[key], a.id) })
}

// findOrders takes each key's longest list for the order of its writes; every
// other list must be a beginning of it.
func (h *history) findOrders() (faults []string) {
	for _, a := range h.attempts {
		for _, o := range a.reads {
			if len(o.list) > len(h.orders[o.key]) {
				h.orders[o.key] = o.list
			}
		}
	}
	for _, a := range h.attempts {
		for _, o := range a.reads {
			if longest := h.orders[o.key]; !slices.Equal(o.list, longest[:len(o.list)]) {
				faults = append(faults, fmt.Sprintf("T%d read %s = %v, which is no beginning of %v", a.id, o.key, o.list, longest))
			}
		}
	}
	return faults
}

// checkElements looks for what should not be in the lists.
func (h *history) checkElements() (faults []string) {
	for key, order := range h.orders {
		seen := map[int]bool{}
		for _, id := range order {
			writer := h.byID[id]
			switch {
			case writer == nil || !slices.Contains(writer.appends, key):
				faults = append(faults, fmt.Sprintf("%s holds %d, which nobody wrote", key, id))
			case writer.outcome == failed:
				faults = append(faults, fmt.Sprintf("%s holds %d, whose transaction failed", key, id))
			case seen[id]:
				faults = append(faults, fmt.Sprintf("%s holds %d twice: %v", key, id, order))
			}
			seen[id] = true
		}
	}
	return faults
}

// checkAppends looks for what should be in the lists and is not.
func (h *history) checkAppends() (faults []string) {
	for i := range h.attempts {
		a := &h.attempts[i]
		if !h.happened(a) {
			continue
		}
		for _, key := range a.appends {
			if !slices.Contains(h.orders[key], a.id) {
				faults = append(faults, fmt.Sprintf("T%d appended to %s, which holds %v", a.id, key, h.orders[key]))
			}
		}
	}
	return faults
}

// graph orders the transactions that happened: by their writes of one key, by
// who read whose write or read before it was written, and by time.
func (h *history) graph() *orderGraph {
	g := newOrderGraph()
	for key, order := range h.orders {
		for i := 1; i < len(order); i++ {
			g.edge(order[i-1], order[i], "ww "+key)
		}
	}
	for i := range h.attempts {
		a := &h.attempts[i]
		if !h.happened(a) {
			continue
		}
		for _, o := range a.reads {
			h.readEdges(g, a.id, o)
		}
	}
	h.timeEdges(g)
	return g
}

func (h *history) readEdges(g *orderGraph, reader int, o observation) {
	order, n := h.orders[o.key], len(o.list)
	if n > 0 {
		g.edge(order[n-1], reader, "wr "+o.key)
	}
	if n < len(order) {
		g.edge(reader, order[n], "rw "+o.key)
	}
}

// timeEdges orders an attempt before all that began after it had ended. The
// instants stand in the graph as negative numbers, so that a few edges do.
func (h *history) timeEdges(g *orderGraph) {
	ends := []int{}
	for i := range h.attempts {
		if a := &h.attempts[i]; a.outcome == committed {
			ends = append(ends, a.ended)
			g.edge(a.id, -1-a.ended, "ended")
		}
	}
	slices.Sort(ends)
	for i := 1; i < len(ends); i++ {
		g.edge(-1-ends[i-1], -1-ends[i], "then")
	}
	for i := range h.attempts {
		a := &h.attempts[i]
		before, _ := slices.BinarySearch(ends, a.began)
		if before > 0 && h.happened(a) {
			g.edge(-1-ends[before-1], a.id, "before it began")
		}
	}
}
